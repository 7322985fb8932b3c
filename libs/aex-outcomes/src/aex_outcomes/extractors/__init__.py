"""Metric extractors: one a file, all behind the protocol of `protocol`."""
