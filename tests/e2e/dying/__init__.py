"""The services, as they are, on stores and buses that kill them at a step that the test has ordered, once."""
