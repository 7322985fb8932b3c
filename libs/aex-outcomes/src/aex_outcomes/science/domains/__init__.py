"""Domains: value ranges, sanity checks and default statistics of a scientific field."""
