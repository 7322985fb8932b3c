"""Detectors of candidate text that tries to influence its grader."""
