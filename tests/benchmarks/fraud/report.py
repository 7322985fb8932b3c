"""Report of detected fraud and false alarms, by rule and by kind of honest work."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from tests.benchmarks.fraud.judging import Judged
from tests.benchmarks.fraud.population import RULES
from tests.benchmarks.fraud.stories import HONEST, TUNING_SEEDS

DETECTION_BAR = 0.95
FALSE_ALARM_BAR = 0.01
MAX_LISTED = 40
_Z = 1.959964
"""95 % of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A count of a total; unknown for a total of zero."""

    count: int
    total: int

    @property
    def share(self) -> float | None:
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's score interval of 95 % (E. B. Wilson, 1927)."""
        if not self.total:
            return 0.0, 1.0
        share, weight = self.count / self.total, _Z**2 / self.total
        middle = (share + weight / 2) / (1 + weight)
        reach = _Z * sqrt(share * (1 - share) / self.total + weight / (4 * self.total)) / (1 + weight)
        return max(middle - reach, 0.0), min(middle + reach, 1.0)

    def __str__(self) -> str:
        low, high = self.interval
        share = "unknown" if self.share is None else f"{self.share:.2%}"
        return f"{self.count:>5} of {self.total:<5} {share:>8}  {low:6.1%} to {high:6.1%}"


@dataclass(frozen=True, slots=True)
class Report:
    """Judged examples of some seeds."""

    seeds: tuple[int, ...]
    judged: Sequence[Judged]

    @property
    def tuned_on(self) -> tuple[int, ...]:
        """Return the seeds that rules may be tuned on."""
        return tuple(seed for seed in self.seeds if seed in TUNING_SEEDS)

    @property
    def missed(self) -> list[Judged]:
        return [each for each in self.judged if each.label.is_fraud and not each.is_found]

    @property
    def honest(self) -> list[Judged]:
        return [each for each in self.judged if not each.label.is_fraud]

    @property
    def false_alarms(self) -> list[Judged]:
        return [each for each in self.honest if each.decision.flags]

    def detection(self) -> Mapping[str, Rate]:
        """Return the detected fraud of every rule."""
        total = Counter(each.label.subject for each in self.judged if each.label.is_fraud)
        missed = Counter(each.label.subject for each in self.missed)
        return {rule: Rate(total[rule] - missed[rule], total[rule]) for rule in RULES}

    def alarms_by_rule(self) -> Mapping[str, Rate]:
        """Return the honest examples with a flag of each rule."""
        flagged = Counter(rule for each in self.honest for rule in {flag.rule for flag in each.decision.flags})
        return {rule: Rate(flagged[rule], len(self.honest)) for rule in RULES}

    def alarms_by_kind(self) -> Mapping[str, Rate]:
        """Return the flagged examples of each kind of honest work."""
        total = Counter(each.label.subject for each in self.honest)
        flagged = Counter(each.label.subject for each in self.false_alarms)
        return {kind.removeprefix(f"{HONEST}: "): Rate(flagged[kind], count) for kind, count in total.items()}

    def alarms(self) -> tuple[Rate, Rate]:
        """Return all honest work with a flag, and held or rejected."""
        stopped = sum(each.is_stopped for each in self.honest)
        return Rate(len(self.false_alarms), len(self.honest)), Rate(stopped, len(self.honest))

    def failures(self) -> list[str]:
        """Return the bars that are not reached; a rule without examples reaches none."""
        failed = [
            f"{rule}: {_percent(rate.share)} found, {DETECTION_BAR:.0%} required"
            for rule, rate in self.detection().items()
            if rate.share is None or rate.share < DETECTION_BAR
        ]
        flagged = self.alarms()[0].share
        if flagged is None or flagged > FALSE_ALARM_BAR:
            failed.append(f"honest work: {_percent(flagged)} flagged, at most {FALSE_ALARM_BAR:.0%} allowed")
        return failed

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        tuned = f"; rules may be tuned on {', '.join(map(str, self.tuned_on))}" if self.tuned_on else ""
        yield f"Seeds {', '.join(map(str, self.seeds))}{tuned}"
        yield "Fraud found, by rule; flags on honest work"
        alarms = self.alarms_by_rule()
        yield from (f"  {rule:24}{rate}  {alarms[rule].count:>4}" for rule, rate in self.detection().items())
        yield "Honest work flagged, by kind"
        yield from (f"  {kind:24}{rate}" for kind, rate in sorted(self.alarms_by_kind().items()))
        flagged, stopped = self.alarms()
        yield f"  {'all':24}{flagged}"
        yield f"  {'all, held or rejected':24}{stopped}"
        for title, examples in (("missed", self.missed), ("false alarm", self.false_alarms)):
            for each in examples[:MAX_LISTED]:
                flags = ", ".join(f"{flag.rule} {flag.severity}" for flag in each.decision.flags) or "no flag"
                yield f"{title}: {each.key} {each.label.variant}: {flags}"
        yield from (f"below the bar: {each}" for each in self.failures())


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.2%}"
