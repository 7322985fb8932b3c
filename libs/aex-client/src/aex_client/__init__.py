"""Python SDK: sync and async clients, typed with the common models."""
