"""Fraud rules: one a file, pure functions of what verification tells about an attempt."""
