"""Works, awards and evaluation data."""
