"""Confined worker processes, which run jobs that take much processor time or read hostile data."""
