"""Metric extractors, one per module, and their protocol."""
