"""The catalogue's entry for one metric: what it is, where it comes from, and what it needs."""

from enum import StrEnum

from aex_models.criteria import MetricName
from aex_models.frozen import Frozen
from aex_models.results import Provenance
from aex_models.thresholds import MetricType


class Direction(StrEnum):
    """Which values are the better ones."""

    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"
    """It depends on the work."""


class MetricEntry(Frozen):
    """One metric that criteria can name."""

    name: MetricName
    unit: str
    """`ms`, `fraction`, `characters`, `words`, `items`, `boolean`, …"""
    range: tuple[float | None, float | None] = (None, None)
    """The least and the greatest possible value, both included; None where there is no bound."""
    direction: Direction = Direction.NONE
    provenance: Provenance = Provenance.COMPUTED
    metric_types: tuple[MetricType, ...]
    """The types with which a criterion may use it."""
    needs: tuple[str, ...] = ()
    """The keys of `evaluation` without which it cannot be computed."""
    secret: bool = False
    """Whether its value is computed from evaluation data."""
