"""Decisions as pure functions: what is posted, what is refused, how figures are grouped."""
