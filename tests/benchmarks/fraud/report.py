"""What was found, what was missed, and what was flagged that should not have been."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from tests.benchmarks.fraud.judging import Judged
from tests.benchmarks.fraud.population import RULES
from tests.benchmarks.fraud.scene import TUNING_SEEDS
from tests.benchmarks.fraud.story import HONEST

DETECTION_BAR = 0.95
FALSE_ALARM_BAR = 0.01
_Z = 1.959964
"""Of the normal distribution, for 95 %."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of how many."""

    count: int
    total: int

    @property
    def share(self) -> float | None:
        """None where there was nothing to count: unknown is not zero."""
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval, 95 % (E. B. Wilson, 1927)."""
        if not self.total:
            return 0.0, 1.0
        share, weight = self.count / self.total, _Z**2 / self.total
        middle = (share + weight / 2) / (1 + weight)
        reach = _Z * sqrt(share * (1 - share) / self.total + weight / (4 * self.total)) / (1 + weight)
        return max(middle - reach, 0.0), min(middle + reach, 1.0)


@dataclass(frozen=True, slots=True)
class Report:
    """The answer to: is fraud caught, and is honest work left alone?"""

    seeds: tuple[int, ...]
    judged: Sequence[Judged]

    @property
    def tuned_on(self) -> tuple[int, ...]:
        """Those of the seeds that rules may have been tuned on."""
        return tuple(seed for seed in self.seeds if seed in TUNING_SEEDS)

    @property
    def missed(self) -> list[Judged]:
        """Fraud without its flag."""
        return [each for each in self.judged if each.label.is_fraud and not each.is_found]

    @property
    def false_alarms(self) -> list[Judged]:
        """Honest work with a flag, whichever."""
        return [each for each in self.honest if each.decision.flags]

    @property
    def honest(self) -> list[Judged]:
        """All honest examples."""
        return [each for each in self.judged if not each.label.is_fraud]

    def detection(self) -> Mapping[str, Rate]:
        """By rule, also those that no example is there for."""
        total = Counter(each.label.subject for each in self.judged if each.label.is_fraud)
        missed = Counter(each.label.subject for each in self.missed)
        return {rule: Rate(total[rule] - missed[rule], total[rule]) for rule in RULES}

    def alarms_by_rule(self) -> Mapping[str, Rate]:
        """Honest examples that the rule was raised for."""
        raised = Counter(rule for each in self.honest for rule in {flag.rule for flag in each.decision.flags})
        return {rule: Rate(raised[rule], len(self.honest)) for rule in RULES}

    def alarms_by_kind(self) -> Mapping[str, tuple[Rate, Rate]]:
        """By kind of honest work: with any flag; held or rejected."""
        total = Counter(each.label.subject for each in self.honest)
        flagged = Counter(each.label.subject for each in self.false_alarms)
        stopped = Counter(each.label.subject for each in self.honest if each.is_stopped)
        return {
            kind.removeprefix(f"{HONEST}: "): (Rate(flagged[kind], count), Rate(stopped[kind], count))
            for kind, count in total.items()
        }

    def alarms(self) -> tuple[Rate, Rate]:
        """Over all honest work: with any flag; held or rejected."""
        stopped = sum(each.is_stopped for each in self.honest)
        return Rate(len(self.false_alarms), len(self.honest)), Rate(stopped, len(self.honest))

    def below(self) -> list[str]:
        """What does not reach its bar, in words; empty where all does. What has no examples has not reached it."""
        short = [
            f"{rule}: {_percent(rate.share)} found, {DETECTION_BAR:.0%} wanted"
            for rule, rate in self.detection().items()
            if rate.share is None or rate.share < DETECTION_BAR
        ]
        flagged = self.alarms()[0].share
        if flagged is None or flagged > FALSE_ALARM_BAR:
            short.append(f"honest work: {_percent(flagged)} flagged, at most {FALSE_ALARM_BAR:.0%} wanted")
        return short


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.2%}"
