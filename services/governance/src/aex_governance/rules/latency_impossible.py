"""Fraud rule against reported times that cannot be true.

A time cannot exceed what the platform measured, and a part cannot exceed the total. Agents report times under several
names, in metadata, metrics and claims, as numbers or text.
"""

import math
import re
from operator import attrgetter
from typing import Any, NamedTuple

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_models.governance import Action, Flag, Severity, ValidationRequest
from aex_models.numbers import is_finite_number

DURATIONS = ("duration_ms", "latency_ms", "total_ms")
FIRST_BYTES = ("ttfb_ms", "time_to_first_byte_ms", "time_to_first_byte", "ttfb")
PROCESSINGS = ("processing_ms", "processing_time_ms", "processing_time")
_SOURCES = ("execution_metadata", "extracted_metrics", "claimed_metrics")
"""Fields of a request that may hold times, in order of precedence."""
_PLAIN = re.compile(r"\s*[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?\s*", re.ASCII)


class ReportedTime(NamedTuple):
    """Time that an agent reports."""

    ms: float
    """The time in milliseconds."""
    name: str
    """Name under which it is reported."""
    source: str
    """Field of the request that holds it, such as `execution_metadata`."""


def parse_plain_number(value: Any) -> float | None:
    """Return the value of a number, or of text in plain decimal digits, if it is finite; None otherwise."""
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        value = float(value)
        return value if math.isfinite(value) else None
    return float(value) if is_finite_number(value) else None


def find_longest_reported_time(request: ValidationRequest, names: tuple[str, ...]) -> ReportedTime | None:
    """Return the longest time that is reported under one of these names.

    Only the first source that has any of the names is read. Returns None if no source has any of them.
    """
    for source in _SOURCES:
        values = getattr(request, source)
        times = [
            ReportedTime(ms, name, source) for name in names if (ms := parse_plain_number(values.get(name))) is not None
        ]
        if times:
            return max(times, key=attrgetter("ms"))
    return None


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a major flag if reported times contradict the measured one or each other; None otherwise.

    Long times alone are not flagged. A time that is no number, or was not measured, is not compared.
    """
    duration, first_byte, processing = (
        find_longest_reported_time(case.request, names) for names in (DURATIONS, FIRST_BYTES, PROCESSINGS)
    )
    reported = [each for each in (duration, first_byte, processing) if each is not None]
    measured, slack = case.request.platform_latency_ms, thresholds["slack_ms"]
    limit = math.inf if measured is None else measured + slack
    problems = [f"{each.name} exceeds what the platform measured" for each in reported if each.ms > limit]
    problems += _longer_than(duration, first_byte, thresholds["rounding_ms"])
    problems += _longer_than(duration, processing, slack)
    if not problems:
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message=f"Impossible times: {'; '.join(problems)}",
        evidence={
            "reported": {each.name: each.ms for each in reported},
            "reported_in": {each.name: each.source for each in reported},
            "platform_latency_ms": measured,
            "slack_ms": slack,
            "problems": problems,
        },
    )


def _longer_than(duration: ReportedTime | None, part: ReportedTime | None, slack: float) -> list[str]:
    if duration is None or part is None or part.ms <= duration.ms + slack:
        return []
    return [f"{part.name} exceeds {duration.name}"]


RULE = FraudRule(
    name="latency_impossible",
    description=(
        "The agent reports a longer time than the platform waited for it (plus a second), "
        "or a first byte or a processing time beyond the whole duration."
    ),
    check=check,
    actions={Severity.MAJOR: Action.HOLD},
    threshold_notes={
        "slack_ms": "Milliseconds by which a reported time may exceed the measured one, or processing the duration.",
        "rounding_ms": "Milliseconds by which the first byte may come after the duration: both may be rounded.",
    },
)
