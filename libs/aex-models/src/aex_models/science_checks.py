"""The checks that a work's `science.checks` may name, beside the sanity checks of its domain."""

VALUE_RANGES, RECOMPUTE_STATISTICS, PEER_REVIEW = "value_ranges", "recompute_statistics", "peer_review"
CHECKS = (VALUE_RANGES, RECOMPUTE_STATISTICS, PEER_REVIEW)
"""What `science.checks` may name, beside the sanity checks of the domain."""
DEFAULT_CHECKS = (VALUE_RANGES, RECOMPUTE_STATISTICS)
