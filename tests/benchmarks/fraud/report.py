"""Report of detected fraud and false alarms, by rule and by kind of honest work."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks.fraud.judging import Judged
from tests.benchmarks.fraud.population import RULES
from tests.benchmarks.fraud.stories import HONEST, TUNING_SEEDS

DETECTION_BAR = 0.95
FALSE_ALARM_BAR = 0.01


@dataclass(frozen=True, slots=True)
class Rate:
    """A count of a total; unknown for a total of zero."""

    count: int
    total: int

    @property
    def share(self) -> float | None:
        return self.count / self.total if self.total else None

    def __str__(self) -> str:
        return f"{self.count:>5} of {self.total:<5} {_percent(self.share):>8}"


@dataclass(frozen=True, slots=True)
class Report:
    """Judged examples of some seeds."""

    seeds: Sequence[int]
    judged: Sequence[Judged]

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
        """Return the flagged examples of each kind of honest work, and those of all kinds."""
        total = Counter(each.label.subject for each in self.honest)
        flagged = Counter(each.label.subject for each in self.false_alarms)
        kinds = {kind.removeprefix(f"{HONEST}: "): Rate(flagged[kind], total[kind]) for kind in sorted(total)}
        return {**kinds, "all": Rate(len(self.false_alarms), len(self.honest))}

    def failures(self) -> list[str]:
        """Return the bars that are not reached; a rule without examples reaches none."""
        failed = [
            f"{rule}: {_percent(rate.share)} found, {DETECTION_BAR:.0%} required"
            for rule, rate in self.detection().items()
            if rate.share is None or rate.share < DETECTION_BAR
        ]
        flagged = self.alarms_by_kind()["all"].share
        if flagged is None or flagged > FALSE_ALARM_BAR:
            failed.append(f"honest work: {_percent(flagged)} flagged, at most {FALSE_ALARM_BAR:.0%} allowed")
        return failed

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        tuning = [seed for seed in self.seeds if seed in TUNING_SEEDS]
        yield f"Seeds {self.seeds}" + (f"; rules may be tuned on {tuning}" if tuning else "")
        yield "Fraud found, by rule; flags on honest work"
        alarms = self.alarms_by_rule()
        yield from (f"  {rule:24}{rate}  {alarms[rule].count:>4}" for rule, rate in self.detection().items())
        yield "Honest work flagged, by kind"
        yield from (f"  {kind:24}{rate}" for kind, rate in self.alarms_by_kind().items())
        for title, examples in (("missed", self.missed), ("false alarm", self.false_alarms)):
            for each in examples:
                flags = ", ".join(f"{flag.rule} {flag.severity}" for flag in each.decision.flags) or "no flag"
                yield f"{title}: {each.key} {each.label.variant}: {flags}"
        yield from (f"below the bar: {each}" for each in self.failures())


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.2%}"
