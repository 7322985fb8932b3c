"""Counters and histograms of verification."""

from collections.abc import Collection
from typing import Any

from aex_models.contract import FINAL_STATUSES, AttemptStatus
from aex_models.governance import Action
from aex_models.results import Verdict
from aex_runtime.measures import LONG_S, SHORT_S, CounterSpec, HistogramSpec, Measures, Spec
from aex_runtime.telemetry import add_span_attributes
from aex_runtime.tracing.spans import EXTRACTION_S

ATTEMPTS_TOTAL = CounterSpec(
    "aex_attempts_total",
    "Attempts that were queued, judged, found invalid, delayed after a failure, or held",
    {"status": tuple(each for each in AttemptStatus if each is not AttemptStatus.VERIFYING)},
)
VERDICTS_TOTAL = CounterSpec(
    "aex_verdicts_total", "Verdicts on attempts, before governance decided", {"verdict": tuple(Verdict)}
)
CONTRACTS_ENDED_TOTAL = CounterSpec(
    "aex_contracts_ended_total", "Contracts that became final", {"status": tuple(sorted(FINAL_STATUSES))}
)
VERIFICATION_SECONDS = HistogramSpec(
    "aex_verification_seconds",
    "Duration of grading one candidate, with science and named verifier",
    buckets=(*SHORT_S, 120.0),
)
VERDICT_LAG_SECONDS = HistogramSpec(
    "aex_verdict_lag_seconds", "Time from a candidate's receipt until its verdict was committed", buckets=LONG_S
)
_LONGEST_S = 3_600.0
"""Longest duration that is recorded, in seconds; one absurd value would dominate the sum."""
UNAVAILABLE, REFUSED = "unavailable", "refused"
GOVERNANCE_SECONDS = HistogramSpec(
    "aex_governance_seconds",
    "Duration of a call to governance about an attempt, by its answer",
    {"answer": (Action.ALLOW, Action.HOLD, Action.REJECT, REFUSED, UNAVAILABLE)},
)
MEASURES: tuple[Spec, ...] = (
    *(ATTEMPTS_TOTAL, VERDICTS_TOTAL, CONTRACTS_ENDED_TOTAL),
    *(VERIFICATION_SECONDS, VERDICT_LAG_SECONDS, GOVERNANCE_SECONDS),
)


class ExtractionTimes:
    """Histogram of the durations of extractors, as workers report them.

    Workers read hostile data, so implausible durations are ignored.
    """

    def __init__(self, measures: Measures, sections: Collection[str]) -> None:
        """Create the histogram with one label for each extractor's section of the configuration."""
        self.seconds = HistogramSpec(
            "aex_extraction_seconds",
            "Duration of one extractor on one candidate, by its section in the configuration",
            {"extractor": tuple(sorted(sections))},
        )
        self._measures, self._sections = measures, frozenset(sections)

    def record_reported_seconds(self, seconds_by_extractor: Any) -> None:
        """Record the seconds that a worker reports for each extractor, also in the current trace span.

        Implausible values are ignored.
        """
        for section, seconds in seconds_by_extractor.items() if isinstance(seconds_by_extractor, dict) else ():
            if section in self._sections and isinstance(seconds, float) and 0 <= seconds <= _LONGEST_S:
                self._measures.observe(self.seconds, seconds, section)
                add_span_attributes({f"{EXTRACTION_S}{section}": round(seconds, 6)})
