"""Pure functions that compute metrics of texts and labels, with the results of reference libraries."""
