"""Shared parts of the HTTP APIs: problems, guards, idempotency, paging, limits, health, metrics."""
