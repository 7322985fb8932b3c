"""Fixed-bucket histograms of metrics, and the profiles that are computed from them.

A value x lies in bucket round(asinh(x / 0.001) · 50): linear around zero, about 2 % wide beyond 0.001, for any finite
number of either sign. Distances between values are taken on the same scale.
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


def scale(value: float) -> float:
    """Return the value on the histogram's scale, in buckets. Far from zero, 50 buckets are a factor of e."""
    return asinh(value / _UNIT) * _BUCKETS_PER_E


def bucket_of(value: float) -> int:
    """Return the bucket of a finite value."""
    return round(scale(value))


def clamp(value: float) -> float:
    """Return the value within ±1e12, so that a few absurd values do not use up the buckets."""
    return max(-_LARGEST, min(_LARGEST, value))


def middle_of(bucket: float) -> float:
    """Return the value in the middle of a bucket."""
    return sinh(bucket / _BUCKETS_PER_E) * _UNIT


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of a metric's values by bucket."""

    counts: Mapping[int, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def buckets(self) -> "Distribution":
        return Distribution(tuple(self.counts.items()))

    @property
    def values(self) -> "Distribution":
        """Return the middles of the buckets with their counts, in the values' unit."""
        return Distribution(tuple((middle_of(bucket), count) for bucket, count in self.counts.items()))

    @staticmethod
    def from_coarse(counts: Mapping[int, int], level: int) -> "Histogram":
        """Return the histogram of buckets `2 ** level` times as wide, each counted in its middle."""
        half = (1 << level) // 2
        return Histogram({(bucket << level) + half: count for bucket, count in counts.items()})


def weighted_median(weighted: Iterable[tuple[float, int]]) -> float:
    """Return the median of values with their counts. Raises `ValueError` when there are none."""
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
    """Numbers with their counts. Every method raises `ValueError` when there are none."""

    weighted: Sequence[tuple[float, int]]

    def median(self) -> float:
        """Return the median; of a histogram's values, to the width of a bucket."""
        return weighted_median(self.weighted)

    def deviation(self) -> float:
        """Return the median absolute deviation."""
        median = self.median()
        return weighted_median((abs(value - median), count) for value, count in self.weighted)

    def distance_quantile(self, share: float, above: bool) -> float:
        """Return the quantile of the distances from the median on one side of it, which includes the median."""
        sign, median = 1 if above else -1, self.median()
        gaps = sorted((gap, count) for value, count in self.weighted if (gap := sign * (value - median)) >= 0)
        sums = list(accumulate(count for _, count in gaps))
        return gaps[bisect_left(sums, share * sums[-1])][0]


def domain_profile(domain: str, tally: ProfileTally) -> DomainProfile:
    """Return an agent's profile in one domain."""
    metrics = {name: metric_profile(buckets) for name, buckets in sorted(tally.histograms.items())}
    found = {name: each for name, each in metrics.items() if each is not None}
    return DomainProfile(domain=domain, metrics=found, **_counts(tally))


def agent_profile(agent_id: str, total: ProfileTally, domains: tuple[DomainProfile, ...]) -> AgentProfile:
    """Return an agent's profile with these of its domains."""
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


def metric_profile(buckets: Buckets) -> MetricProfile | None:
    """Return median and median absolute deviation, in the metric's unit; None for an empty histogram."""
    width = 1 << buckets.level
    middles = {middle_of(bucket * width + (width - 1) / 2): count for bucket, count in buckets.counts.items()}
    values = Distribution(tuple(middles.items()))
    if not values.weighted:
        return None
    count = sum(buckets.counts.values())
    return MetricProfile(count=count, median=values.median(), mad=values.deviation())
