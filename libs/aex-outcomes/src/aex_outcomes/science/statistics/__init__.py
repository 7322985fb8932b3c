"""Statistics of a table of raw data: SQL selects and sums rows, Python adds exact arithmetic."""
