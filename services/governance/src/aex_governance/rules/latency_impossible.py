"""Times that cannot be: longer than the platform waited, or parts that are longer than the whole."""

from aex_governance.rules.case import Case
from aex_governance.rules.reported_times import DURATIONS, FIRST_BYTES, PROCESSINGS, ReportedTime, reported_time
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Hold what the agent reports against what the platform measured, and against itself.

    A slow agent is an honest one: no time is too long that the platform measured too. What is no number, or was not
    measured, tells nothing.
    """
    duration, first_byte, processing = (
        reported_time(case.request, names) for names in (DURATIONS, FIRST_BYTES, PROCESSINGS)
    )
    reported = [each for each in (duration, first_byte, processing) if each is not None]
    measured, slack = case.request.platform_latency_ms, thresholds["slack_ms"]
    problems = []
    if measured is not None:
        problems += [
            f"{each.name} exceeds what the platform measured" for each in reported if each.ms > measured + slack
        ]
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
            "reported_in": {each.name: each.place for each in reported},
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
