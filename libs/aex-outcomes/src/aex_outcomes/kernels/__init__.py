"""Pure functions that compute metrics of text and labels, equal to the reference libraries."""
