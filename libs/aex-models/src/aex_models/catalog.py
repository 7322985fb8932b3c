"""The catalogue's entry for one metric: what it is, where it comes from, and what it needs."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from aex_models.frozen import Frozen
from aex_models.results import Provenance
from aex_models.thresholds import MetricType

EntryName = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*\*?$")]
"""A metric's name; `custom.*` stands for all that a work's own code may bring."""


class Direction(StrEnum):
    """Which values are the better ones."""

    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"
    """It depends on the work."""


class Requirement(StrEnum):
    """What a metric stands on beside evaluation data."""

    SCIENCE = "science"
    """The work's `science`."""
    VALUE_RANGES = "value_ranges"
    """And this check in it, like the following ones."""
    RECOMPUTE_STATISTICS = "recompute_statistics"
    PEER_REVIEW = "peer_review"


class MetricEntry(Frozen):
    """One metric that criteria can name."""

    name: EntryName
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
    requires: tuple[Requirement, ...] = ()
    """What else the work, or the installation, has to have for it."""
    secret: bool = False
    """Whether its value is computed from evaluation data."""
