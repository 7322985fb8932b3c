"""The arithmetic of the metrics: pure functions on text and labels, fast, and equal to the reference libraries."""
