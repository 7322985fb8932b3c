"""Which of an attempt's metrics are remembered, and how coarsely."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from aex_governance.rules.histogram import bucket_of, within
from aex_governance.rules.projection.documents import Buckets

T = TypeVar("T")
MAX_METRICS = 32
MAX_BUCKETS = 64
MAX_NAME = 128


def measured(metrics: Mapping[str, bool | float | int | None]) -> dict[str, Buckets]:
    """The finite numbers among them, as histograms of one value each."""
    return kept(
        {
            name: Buckets(counts={place_of(value): 1})
            for name, value in metrics.items()
            if value is not None and not isinstance(value, bool) and len(name) <= MAX_NAME
        }
    )


def place_of(value: float) -> int:
    """The value's bucket, at level 0."""
    return bucket_of(within(value))


def kept(histograms: Mapping[str, T]) -> dict[str, T]:
    """Those that a document has room for: the names that come first, plain ones before dotted ones.

    A choice by name alone comes out the same in whatever order they came.
    """
    return {name: histograms[name] for name in sorted(histograms, key=_rank)[:MAX_METRICS]}


def added(parts: Sequence[Buckets]) -> Buckets:
    """All of them together, at the lowest level at which they have few enough buckets."""
    level = max((part.level for part in parts), default=0)
    counts: dict[int, int] = {}
    for part in parts:
        _count(part.counts, level - part.level, counts)
    while len(counts) > MAX_BUCKETS:
        finer, counts = counts, {}
        _count(finer, 1, counts)
        level += 1
    return Buckets(level=level, counts=counts)


def _count(finer: Mapping[int, int], levels: int, counts: dict[int, int]) -> None:
    """Add to buckets that are so many levels coarser."""
    for bucket, count in finer.items():
        coarse = bucket >> levels
        counts[coarse] = counts.get(coarse, 0) + count


def _rank(name: str) -> tuple[bool, str]:
    return "." in name, name
