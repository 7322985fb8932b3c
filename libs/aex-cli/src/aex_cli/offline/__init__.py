"""Checks of criteria, works and outputs from files, without a service."""
