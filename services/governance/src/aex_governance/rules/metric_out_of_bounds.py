"""A bounded metric lies outside its range, a latency or a count is negative, or a value is not finite."""

from aex_governance.rules.case import Case
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Hold every extracted metric against its bounds: `{metric: [least, most]}`, either end None for none."""
    outside: dict[str, dict[str, float | str | None]] = {}
    for name, value in case.request.extracted_metrics.items():
        if isinstance(value, bool):
            continue
        least, most = thresholds["bounds"].get(name, (None, None))
        if value is None:
            outside[name] = {"value": None, "problem": "not finite"}
        elif _outside(value, least, most, thresholds["tolerance"]):
            outside[name] = {"value": value, "least": least, "most": most}
    if not outside:
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.CRITICAL,
        message=f"Impossible values: {', '.join(sorted(outside))}",
        evidence={"metrics": outside},
    )


def _outside(value: float, least: float | None, most: float | None, tolerance: float) -> bool:
    """A weighted average of ones can be a hair above 1: rejecting is final, so that the hair is not held against it."""
    return (least is not None and value < least - tolerance) or (most is not None and value > most + tolerance)


RULE = FraudRule(
    name="metric_out_of_bounds",
    description="A bounded metric outside its range, a negative latency or count, or a value that is not finite.",
    check=check,
    actions={Severity.CRITICAL: Action.REJECT},
    threshold_notes={
        "bounds": "By metric `[least, most]`; null for no bound. Every value has to be finite, with bounds or without.",
        "tolerance": "Values beyond a bound by no more than this are rounding.",
    },
)
