"""Shared parts of tests: stubs, in-process replacements of remote services, and readers of files."""
