"""Times that cannot be: longer than the platform waited, or parts that are longer than the whole."""

from aex_governance.rules.case import Case
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity
from aex_models.numbers import is_number

_REPORTED = ("duration_ms", "ttfb_ms", "processing_ms")


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Hold what the agent reports against what the platform measured, and against itself.

    A slow agent is an honest one: no time is too long that the platform measured too. What is no number, or was not
    measured, tells nothing.
    """
    metadata = case.request.execution_metadata
    reported = {name: float(metadata[name]) for name in _REPORTED if is_number(metadata.get(name))}
    measured, slack = case.request.platform_latency_ms, thresholds["slack_ms"]
    problems = []
    if measured is not None:
        problems += [
            f"{name} exceeds what the platform measured" for name, ms in reported.items() if ms > measured + slack
        ]
    duration = reported.get("duration_ms")
    if duration is not None:
        if reported.get("ttfb_ms", duration) > duration + thresholds["rounding_ms"]:
            problems.append("ttfb_ms exceeds duration_ms")
        if reported.get("processing_ms", duration) > duration + slack:
            problems.append("processing_ms exceeds duration_ms")
    if not problems:
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message=f"Impossible times: {'; '.join(problems)}",
        evidence={"reported": reported, "platform_latency_ms": measured, "slack_ms": slack, "problems": problems},
    )


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
        "rounding_ms": "Milliseconds by which ttfb_ms may exceed duration_ms: both may be rounded.",
    },
)
