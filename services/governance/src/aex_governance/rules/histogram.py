"""Histograms of metrics on a fixed scale, and agent profiles computed from them.

A value x lies in bucket round(asinh(x / 0.001) · 50). Buckets are equally wide around zero, and about 2 % of the value
wide beyond 0.001. The scale covers any finite number. Distances between values are measured in buckets.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import asinh, sinh
from typing import Any

from aex_governance.rules.projection_documents import Buckets, ProfileTally
from aex_models.governance import AgentProfile, DomainProfile, MetricProfile

_UNIT = 0.001
_BUCKETS_PER_E = 50
_LARGEST = 1e12


def to_bucket_scale(value: float) -> float:
    """Return the position of a value on the bucket scale, not rounded.

    Far from zero, 50 buckets are a factor of e.
    """
    return asinh(value / _UNIT) * _BUCKETS_PER_E


def bucket_of(value: float) -> int:
    """Return the number of the bucket that holds a finite value."""
    return round(to_bucket_scale(value))


def clamp_metric(value: float) -> float:
    """Return the value limited to ±1e12, so that absurd values do not use up the buckets."""
    return max(-_LARGEST, min(_LARGEST, value))


def bucket_middle(bucket: float) -> float:
    """Return the value in the middle of a bucket, in the metric's unit."""
    return sinh(bucket / _BUCKETS_PER_E) * _UNIT


@dataclass(frozen=True, slots=True)
class Histogram:
    """Number of a metric's values in each bucket."""

    counts: Mapping[int, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Return the number of values."""
        return sum(self.counts.values())

    @property
    def bucket_distribution(self) -> "Distribution":
        """Return the bucket numbers with their counts."""
        return Distribution(tuple(self.counts.items()))

    @property
    def value_distribution(self) -> "Distribution":
        """Return the middles of the buckets with their counts, in the metric's unit."""
        return Distribution(tuple((bucket_middle(bucket), count) for bucket, count in self.counts.items()))

    @staticmethod
    def from_merged_buckets(counts: Mapping[int, int], level: int) -> "Histogram":
        """Return the histogram of stored counts whose buckets are `2 ** level` buckets wide.

        Each count is assigned to the middle of the buckets that were merged into its bucket.
        """
        half = (1 << level) // 2
        return Histogram({(bucket << level) + half: count for bucket, count in counts.items()})


def weighted_median(weighted: Iterable[tuple[float, int]]) -> float:
    """Return the median of pairs of value and count. Raises `ValueError` when there are none."""
    ordered = sorted(weighted)
    sums = list(accumulate(count for _, count in ordered))
    if not sums or sums[-1] == 0:
        raise ValueError("an empty histogram has no median")
    total = sums[-1]
    low = ordered[bisect_left(sums, (total + 1) // 2)][0]
    high = ordered[bisect_left(sums, total // 2 + 1)][0]
    return (low + high) / 2


@dataclass(frozen=True, slots=True)
class Distribution:
    """Pairs of number and count. Each statistic raises `ValueError` when there are none."""

    weighted: Sequence[tuple[float, int]]

    def median(self) -> float:
        """Return the median."""
        return weighted_median(self.weighted)

    def median_absolute_deviation(self) -> float:
        """Return the median of the absolute distances from the median."""
        median = self.median()
        return weighted_median((abs(value - median), count) for value, count in self.weighted)

    def median_distance_quantile(self, share: float, above_median: bool) -> float:
        """Return a quantile of the distances from the median, over the numbers above or below it.

        `share` is the quantile in [0, 1]. Numbers equal to the median count on both sides.
        """
        sign, median = 1 if above_median else -1, self.median()
        gaps = sorted((gap, count) for value, count in self.weighted if (gap := sign * (value - median)) >= 0)
        sums = list(accumulate(count for _, count in gaps))
        return gaps[bisect_left(sums, share * sums[-1])][0]


def build_domain_profile(domain: str, tally: ProfileTally) -> DomainProfile:
    """Return the profile of an agent in one domain."""
    metrics = {name: build_metric_profile(buckets) for name, buckets in sorted(tally.histograms.items())}
    found = {name: each for name, each in metrics.items() if each is not None}
    return DomainProfile(domain=domain, metrics=found, **_counts(tally))


def build_agent_profile(agent_id: str, total: ProfileTally, domains: tuple[DomainProfile, ...]) -> AgentProfile:
    """Return the profile of an agent: its totals, and the given profiles of some of its domains."""
    return AgentProfile(agent_id=agent_id, domains=domains, **_counts(total))


def _counts(tally: ProfileTally) -> dict[str, Any]:
    return {
        "outcomes": tally.outcomes,
        "successes": tally.successes,
        "success_rate": tally.successes / tally.outcomes if tally.outcomes else None,
        "final_statuses": dict(sorted(tally.final_statuses.items())),
        "decisions": dict(sorted(tally.decisions.items())),
        "flags": dict(sorted(tally.flags.items())),
    }


def build_metric_profile(buckets: Buckets) -> MetricProfile | None:
    """Return count, median and median absolute deviation of a metric; None for an empty histogram."""
    width = 1 << buckets.level
    middles = {bucket_middle(bucket * width + (width - 1) / 2): count for bucket, count in buckets.counts.items()}
    values = Distribution(tuple(middles.items()))
    if not values.weighted:
        return None
    count = sum(buckets.counts.values())
    return MetricProfile(count=count, median=values.median(), mad=values.median_absolute_deviation())
