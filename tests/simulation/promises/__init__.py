"""Promises of the suite, and their checks."""
