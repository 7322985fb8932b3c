"""Clients for calls to other services."""
