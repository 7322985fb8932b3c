"""Verification's decisions: pure functions and frozen models."""
