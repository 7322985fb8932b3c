"""Stores of content-addressed bytes, for evaluation data, large records and uploaded files."""
