"""Fixed-bucket histograms: integer counts that come out the same in whatever order values are added.

A value x lies in bucket round(asinh(x / 0.001) · 50): linear around zero, about 2 % wide beyond 0.001, for any finite
number of either sign. Distances between values are taken on the same scale.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import asinh, sinh

_UNIT = 0.001
_BUCKETS_PER_E = 50


def scaled(value: float) -> float:
    """The value's place on the histogram's scale, in buckets. Differences of 50 are a factor of e, far from zero."""
    return asinh(value / _UNIT) * _BUCKETS_PER_E


def bucket_of(value: float) -> int:
    """The bucket that a finite value lies in."""
    return round(scaled(value))


def middle_of(bucket: float) -> float:
    """The value in the middle of a bucket."""
    return sinh(bucket / _BUCKETS_PER_E) * _UNIT


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often a metric lay in which bucket."""

    counts: Mapping[int, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many values were added."""
        return sum(self.counts.values())

    def median(self) -> float:
        """The median's bucket (half-way between the two middle ones for an even total). Raises `ValueError` if empty.

        A place on the scale, in buckets: `middle_of` turns it into a value.
        """
        return _median((bucket, count) for bucket, count in self.counts.items())

    def deviation(self) -> float:
        """The median absolute deviation from the median, in buckets. Raises `ValueError` where it is empty."""
        median = self.median()
        return _median((abs(bucket - median), count) for bucket, count in self.counts.items())

    @staticmethod
    def merged(parts: Iterable["Histogram"]) -> "Histogram":
        """All of them together."""
        counts: dict[int, int] = {}
        for part in parts:
            for bucket, count in part.counts.items():
                counts[bucket] = counts.get(bucket, 0) + count
        return Histogram(counts)


def _median(weighted: Iterable[tuple[float, int]]) -> float:
    ordered = sorted(weighted)
    sums = list(accumulate(count for _, count in ordered))
    if not sums or sums[-1] == 0:
        raise ValueError("an empty histogram has no median")
    total = sums[-1]
    low = ordered[bisect_left(sums, (total + 1) // 2)][0]
    high = ordered[bisect_left(sums, total // 2 + 1)][0]
    return (low + high) / 2
