"""The arithmetic: from what became of each contract to contracts a second and percentiles. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

from tests.benchmarks.load.driven import Driven

WARM_UP = 0.2
"""The share of the contracts, in the order in which they were begun, that is left out: connections are made, caches
filled, workers started."""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of lengths of time, in milliseconds; `nan` where there are none."""

    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Self:
        """Each is the smallest value that so many of a hundred do not exceed."""
        return cls(*(percentile(seconds, share) * 1e3 for share in (0.50, 0.95, 0.99)))

    @classmethod
    def middle(cls, several: Sequence["Percentiles"]) -> Self:
        """The median of each."""
        return cls(median(e.p50 for e in several), median(e.p95 for e in several), median(e.p99 for e in several))


@dataclass(frozen=True, slots=True)
class Figures:
    """What a load comes to."""

    per_s: float
    """Contracts settled in a second of the window."""
    verdict: Percentiles
    """Candidate posted → verdict."""
    settled: Percentiles
    """Last candidate posted → settled."""
    work: Percentiles
    """`POST /v1/work`."""
    accepted: int
    """Contracts that were awarded, the warm-up's among them; as those below."""
    ended: int
    """Of these, settled."""
    asked_again: int
    """Requests that were repeated."""
    errors: int
    """Contracts that ended otherwise."""

    @classmethod
    def of(cls, driven: Sequence[Driven]) -> Self:
        """Of a load that had at least two contracts."""
        ordered = sorted(driven, key=lambda each: each.begun)
        steady = ordered[int(len(ordered) * WARM_UP) :]
        return cls(
            per_s=rate(ordered, steady[0].begun, steady[-1].begun),
            verdict=Percentiles.of([seconds for each in steady for seconds in each.verdicts_s]),
            settled=Percentiles.of([e.settled - e.posted for e in steady if e.settled is not None and e.posted]),
            work=Percentiles.of([each.work_s for each in steady if each.work_s is not None]),
            accepted=sum(each.contract_id is not None for each in ordered),
            ended=sum(each.settled is not None for each in ordered),
            asked_again=sum(len(each.asked_again) for each in ordered),
            errors=sum(each.error is not None for each in ordered),
        )

    @classmethod
    def middle(cls, rounds: Sequence["Figures"]) -> Self:
        """The median round, figure by figure; what is counted is summed."""
        return cls(
            per_s=median(each.per_s for each in rounds),
            verdict=Percentiles.middle([each.verdict for each in rounds]),
            settled=Percentiles.middle([each.settled for each in rounds]),
            work=Percentiles.middle([each.work for each in rounds]),
            accepted=sum(each.accepted for each in rounds),
            ended=sum(each.ended for each in rounds),
            asked_again=sum(each.asked_again for each in rounds),
            errors=sum(each.errors for each in rounds),
        )


def rate(driven: Sequence[Driven], begin: float, end: float) -> float:
    """Contracts a second that were settled after `begin` and up to `end`: after the first contract that counts was
    begun, up to when the last one was. Afterwards fewer and fewer are under way."""
    inside = sum(each.settled is not None and begin < each.settled <= end for each in driven)
    return inside / (end - begin) if end > begin else math.nan


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share of them does not exceed; `nan` of none."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else math.nan
