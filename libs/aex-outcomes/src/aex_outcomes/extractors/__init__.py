"""Metric extractors, one a module, behind the protocol of `protocol`."""
