"""Decisions of verification as pure functions, and the models they need."""
