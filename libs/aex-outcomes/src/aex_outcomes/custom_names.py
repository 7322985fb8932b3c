"""How metrics are called that a work's own code computes."""

PREFIX = "custom."
ANY_NAME = f"{PREFIX}*"
"""The name under which the catalogue lists what only a work's own code can name."""


def is_custom(metric: str) -> bool:
    """Whether the consumer's own code computes the metric."""
    return metric.startswith(PREFIX)
