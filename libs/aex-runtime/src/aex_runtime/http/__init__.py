"""The HTTP kit: problems, identity, idempotency, pagination, limits, health."""
