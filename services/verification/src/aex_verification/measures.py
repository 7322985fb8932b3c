"""Counters and histograms of verification."""

from collections.abc import Collection, Mapping
from typing import Any

from aex_models.contract import FINAL_STATUSES, AttemptStatus
from aex_models.governance import Action
from aex_models.results import Verdict
from aex_outcomes.evaluation_counts import BY_TESTS
from aex_outcomes.testing.results import Outcome
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
TESTS_TOTAL = CounterSpec(
    "aex_tests_total", "Hidden tests that were run on candidates, by their outcome", {"outcome": tuple(Outcome)}
)
TEST_SECONDS = HistogramSpec("aex_test_seconds", "Duration of one hidden test", buckets=(*SHORT_S, 60.0))
MEASURES: tuple[Spec, ...] = (
    *(TESTS_TOTAL, TEST_SECONDS),
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

    def record_hidden_tests(self, details: Mapping[str, Any]) -> None:
        """Record outcome and duration of each hidden test in details, once for all metrics of tests.

        Implausible values are ignored.
        """
        listed = next((details[metric] for metric in sorted(BY_TESTS & details.keys())), ())
        for each in listed if isinstance(listed, list) else ():
            match each:
                case {"outcome": str(outcome), "duration_ms": int(milliseconds)} if outcome in set(Outcome):
                    self._measures.count(TESTS_TOTAL, outcome)
                    self._measures.observe(TEST_SECONDS, min(max(milliseconds / 1_000, 0.0), _LONGEST_S))
