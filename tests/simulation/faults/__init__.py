"""Faults and their probabilities."""
