"""Bounded revision: one state machine, as pure functions."""
