"""Catalogue entries that several extractors have alike."""

from aex_models.catalog import Direction, MetricEntry
from aex_models.thresholds import MetricType


def secret_score(name: str, own_type: MetricType, needs: str) -> MetricEntry:
    """A score in [0, 1], better when higher, computed from the evaluation data under the key `needs`."""
    return MetricEntry(
        name=name,
        unit="fraction",
        range=(0, 1),
        direction=Direction.HIGHER,
        metric_types=(own_type, MetricType.PERCENTAGE, MetricType.NUMERIC),
        needs=(needs,),
        secret=True,
    )
