"""Content-addressed bytes: evaluation data, spilled records, artifacts."""
