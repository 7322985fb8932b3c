"""A bounded metric lies outside its range, a latency or a count is negative, or a value is not finite."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from aex_governance.rules.case import Case
from aex_governance.rules.metric_bounds import MetricBounds
from aex_governance.rules.plain_number import plain_number
from aex_governance.rules.reported_times import DURATIONS, FIRST_BYTES, PROCESSINGS
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity, ValidationRequest

_TIMES = (*DURATIONS, *FIRST_BYTES, *PROCESSINGS)


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Hold what was extracted, claimed and measured against the bounds of each name."""
    bounds = MetricBounds(thresholds["bounds"], thresholds["either_sign"], thresholds["other_scale"])
    tolerance = thresholds["tolerance"]
    outside: dict[str, dict[str, Any]] = {}
    for source, name, value in _values(case.request):
        if name in outside:
            continue  # what was extracted comes first; a claim repeats it
        if value is None or not _is_finite(value):
            outside[name] = {"value": value, "problem": "not finite", "source": source}
        elif (violated := bounds.violated(name, value, tolerance)) is not None:
            outside[name] = {"value": value, "source": source, **violated}
    if not outside:
        return None
    names = [name if each["source"] != "claimed" else f"{name} (claimed)" for name, each in sorted(outside.items())]
    return Flag(
        rule=RULE.name,
        severity=Severity.CRITICAL,
        message=f"Impossible values: {', '.join(names)}",
        evidence={"metrics": outside},
    )


def _values(request: ValidationRequest) -> Iterator[tuple[str, str, float | None]]:
    """Where from, which metric and which value: numbers, and None for an extracted value that is not finite."""
    yield from _numbers("extracted", request.extracted_metrics)
    if request.platform_latency_ms is not None:
        yield "platform", "platform_latency_ms", request.platform_latency_ms
    for name in _TIMES:
        told = plain_number(request.execution_metadata.get(name))
        if told is not None:
            yield "execution_metadata", name, told
    yield from _numbers("claimed", request.claimed_metrics)


def _numbers(source: str, metrics: Mapping[str, bool | float | int | None]) -> Iterator[tuple[str, str, float | None]]:
    for name, value in metrics.items():
        if not isinstance(value, bool):
            yield source, name, value


def _is_finite(value: float) -> bool:
    """An integer is, however large."""
    return isinstance(value, int) or math.isfinite(value)


RULE = FraudRule(
    name="metric_out_of_bounds",
    description=(
        "A bounded metric outside its range, a negative latency or count, or a value that is not finite: "
        "extracted, measured, reported or claimed."
    ),
    check=check,
    actions={Severity.CRITICAL: Action.REJECT},
    threshold_notes={
        "bounds": (
            "By metric `[least, most]`; null for no bound. A name may be a pattern, in which `*` stands for any "
            "characters but a dot: a metric's own name comes before patterns, and of several patterns the one with the "
            "most other characters holds. Patterns do not look at case. Metrics of consumers (`custom.NAME`) may be "
            "called anything, and rejection is final: keep patterns to names whose meaning is plain. "
            "Every value has to be finite, with bounds or without."
        ),
        "either_sign": "Words in a name, as `delta` or `log`, for which no pattern holds that has them not itself.",
        "other_scale": "Words in a name, as `percent`, for which no pattern with a greatest value holds, likewise.",
        "tolerance": "Values beyond a bound by no more than this are rounding.",
    },
)
