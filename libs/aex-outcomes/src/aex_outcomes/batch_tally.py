"""Counts of the verdicts of a batch, and its summary with Wilson's confidence intervals.

Source of the interval: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
(1927).
"""

from dataclasses import dataclass, field
from math import sqrt

from aex_models.batch import BatchSummary, CriterionSummary, Proportion
from aex_models.examination import Fault
from aex_models.results import CriterionResult, Verdict, VerificationResult
from aex_outcomes.rollouts import correctly_rounded_mean


@dataclass(slots=True)
class _CriterionCounts:
    first: CriterionResult
    met: int = 0
    known: int = 0
    indeterminate: int = 0


@dataclass(slots=True)
class BatchTally:
    """Counts of the verdicts and problems of a batch so far."""

    verdicts: dict[Verdict, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))
    problems: int = 0
    _scores: list[float] = field(default_factory=list)
    _criteria: dict[int, _CriterionCounts] = field(default_factory=dict)

    def count_result(self, result: VerificationResult) -> None:
        """Count a verdict, and the result of each criterion whose value is known."""
        self.verdicts[result.verdict] += 1
        if result.verdict is not Verdict.INDETERMINATE:
            self._scores.append(result.weighted_score)
        for position, each in enumerate(result.criterion_results):
            counts = self._criteria.setdefault(position, _CriterionCounts(each))
            if each.error is not None and each.error.fault is Fault.PLATFORM:
                counts.indeterminate += 1
            else:
                counts.known += 1
                counts.met += each.met

    def count_problem(self, *, by_platform: bool) -> None:
        """Count a line without a result: as indeterminate if the platform failed, else as refused."""
        if by_platform:
            self.verdicts[Verdict.INDETERMINATE] += 1
        else:
            self.problems += 1

    def summarize(self) -> BatchSummary:
        """Return the summary of all that was counted."""
        passed, rejected = self.verdicts[Verdict.PASSED], self.verdicts[Verdict.REJECTED]
        return BatchSummary(
            outputs=sum(self.verdicts.values()) + self.problems,
            passed=passed,
            rejected=rejected,
            indeterminate=self.verdicts[Verdict.INDETERMINATE],
            problems=self.problems,
            pass_rate=make_proportion(passed, passed + rejected),
            mean_weighted_score=correctly_rounded_mean(self._scores) if self._scores else None,
            criteria=tuple(
                CriterionSummary(
                    criterion=position,
                    metric=counts.first.metric,
                    comparison=counts.first.comparison,
                    met=make_proportion(counts.met, counts.known),
                    indeterminate=counts.indeterminate,
                )
                for position, counts in sorted(self._criteria.items())
            ),
        )


def make_proportion(count: int, total: int) -> Proportion:
    """Return a proportion with its interval; without share and interval if the total is 0."""
    if not total:
        return Proportion(count=count, total=total)
    low, high = compute_wilson_interval(count, total)
    return Proportion(count=count, total=total, share=count / total, low=low, high=high)


Z_95 = 1.959963984540054
"""Quantile of the standard normal distribution at 0.975, for an interval of 95 %."""


def compute_wilson_interval(count: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """Return both ends of the score interval of `count` of `total`, without correction for continuity.

    Raises `ValueError` unless 0 ≤ `count` ≤ `total` and `total` is at least 1.
    """
    if not 0 <= count <= total or total < 1:
        raise ValueError(f"{count} of {total} is no proportion")
    share, squared = count / total, z * z
    centre = share + squared / (2 * total)
    spread = z * sqrt(share * (1 - share) / total + squared / (4 * total * total))
    scale = 1 + squared / total
    low = 0.0 if count == 0 else max((centre - spread) / scale, 0.0)
    high = 1.0 if count == total else min((centre + spread) / scale, 1.0)
    return low, high
