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
_LARGEST = 1e12


def scaled(value: float) -> float:
    """The value's place on the histogram's scale, in buckets. Differences of 50 are a factor of e, far from zero."""
    return asinh(value / _UNIT) * _BUCKETS_PER_E


def bucket_of(value: float) -> int:
    """The bucket that a finite value lies in."""
    return round(scaled(value))


def within(value: float) -> float:
    """The value, or the end of the range that is told apart: a few absurd ones must not use up the buckets."""
    return max(-_LARGEST, min(_LARGEST, value))


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
        return weighted_median((bucket, count) for bucket, count in self.counts.items())

    def deviation(self) -> float:
        """The median absolute deviation from the median, in buckets. Raises `ValueError` where it is empty."""
        median = self.median()
        return weighted_median((abs(bucket - median), count) for bucket, count in self.counts.items())

    def median_value(self) -> float:
        """The median itself, to the width of a bucket. Raises `ValueError` where it is empty."""
        return weighted_median((middle_of(bucket), count) for bucket, count in self.counts.items())

    def deviation_value(self) -> float:
        """The median absolute deviation from the median, in the values' own unit. Raises `ValueError` if empty."""
        median = self.median_value()
        return weighted_median((abs(middle_of(bucket) - median), count) for bucket, count in self.counts.items())

    def reach(self, share: float, above: bool) -> float:
        """How far from the median, in buckets, this share of the values on one side of it lies at most.

        The median itself is on both sides. Raises `ValueError` if empty.
        """
        return _reach(self.counts.items(), self.median(), share, above)

    def reach_value(self, share: float, above: bool) -> float:
        """The same in the values' own unit."""
        values = [(middle_of(bucket), count) for bucket, count in self.counts.items()]
        return _reach(values, self.median_value(), share, above)

    @staticmethod
    def of_coarse(counts: Mapping[int, int], level: int) -> "Histogram":
        """One whose buckets are `2 ** level` times as wide: each is counted as the bucket in its middle."""
        half = (1 << level) // 2
        return Histogram({(bucket << level) + half: count for bucket, count in counts.items()})


def weighted_median(weighted: Iterable[tuple[float, int]]) -> float:
    """The median of values that are there so many times. Raises `ValueError` where there are none."""
    ordered = sorted(weighted)
    sums = list(accumulate(count for _, count in ordered))
    if not sums or sums[-1] == 0:
        raise ValueError("an empty histogram has no median")
    total = sums[-1]
    low = ordered[bisect_left(sums, (total + 1) // 2)][0]
    high = ordered[bisect_left(sums, total // 2 + 1)][0]
    return (low + high) / 2


def _reach(weighted: Iterable[tuple[float, int]], median: float, share: float, above: bool) -> float:
    """What has a median has at least half of its values, one of them if not more, on each side of it."""
    sign = 1 if above else -1
    gaps = sorted((gap, count) for place, count in weighted if (gap := sign * (place - median)) >= 0)
    sums = list(accumulate(count for _, count in gaps))
    return gaps[bisect_left(sums, share * sums[-1])][0]
