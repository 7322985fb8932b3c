"""The entry of a metric in the metric catalogue: its values, their source and its requirements."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from aex_models.frozen import Frozen
from aex_models.results import Provenance
from aex_models.thresholds import MetricType

EntryName = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*\*?$")]
"""A metric's name; `custom.*` stands for all metrics that a work's custom code may define."""


class Direction(StrEnum):
    """The direction in which a metric's values are better."""

    HIGHER = "higher"
    """Larger values are better."""
    LOWER = "lower"
    """Smaller values are better."""
    NONE = "none"
    """The better direction depends on the work."""


class Requirement(StrEnum):
    """A part of the work, or of the installation, that a metric requires in addition to evaluation data."""

    SCIENCE = "science"
    """The work's `science`."""
    VALUE_RANGES = "value_ranges"
    """The check `value_ranges` in the work's `science.checks`."""
    RECOMPUTE_STATISTICS = "recompute_statistics"
    """The check `recompute_statistics` in the work's `science.checks`."""
    PEER_REVIEW = "peer_review"
    """The check `peer_review` in the work's `science.checks`."""


class Cost(StrEnum):
    """The processor time that a metric takes."""

    CHEAP = "cheap"
    """Milliseconds."""
    SLOW = "slow"
    """Up to minutes; a candidate waits for a slot of slow grading."""


class MetricEntry(Frozen):
    """A metric that success criteria may name."""

    name: EntryName
    description: str = ""
    """Meaning of the value, in one sentence; empty for extractors that list no entries of their own."""
    unit: str
    """`ms`, `fraction`, `characters`, `words`, `items`, `boolean`, …"""
    range: tuple[float | None, float | None] = (None, None)
    """The least and the greatest possible value, both included; None where there is no bound."""
    direction: Direction = Direction.NONE
    provenance: Provenance = Provenance.COMPUTED
    metric_types: tuple[MetricType, ...]
    """The metric types with which a criterion may use the metric."""
    needs: tuple[str, ...] = ()
    """The keys of `evaluation` without which the metric cannot be computed."""
    requires: tuple[Requirement, ...] = ()
    """Further requirements on the work or the installation."""
    secret: bool = False
    """True if the value is computed from evaluation data."""
    at: str | None = None
    """JSON pointer to the part of the output that is measured; None if the metric reads no such part."""
    cost: Cost = Cost.CHEAP
    named: bool = False
    """True if METRIC.NAME is this metric over `evaluation.named.NAME`."""
