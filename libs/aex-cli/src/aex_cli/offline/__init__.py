"""Criteria, works and outputs out of files, looked at without any service."""
