"""Services on stores and buses that kill them once, at the step that the test orders."""
