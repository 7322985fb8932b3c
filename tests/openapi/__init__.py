"""What the four OpenAPI documents promise, held against the running services by generated requests."""
