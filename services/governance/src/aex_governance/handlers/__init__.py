"""Handlers: the use cases of the service."""
