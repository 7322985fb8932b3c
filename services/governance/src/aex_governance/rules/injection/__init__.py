"""Detectors of text that addresses a grader."""
