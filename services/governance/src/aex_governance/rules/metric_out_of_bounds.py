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
        elif (least is not None and value < least) or (most is not None and value > most):
            outside[name] = {"value": value, "least": least, "most": most}
    if not outside:
        return None
    return Flag(
        rule=RULE.name,
        severity=Severity.CRITICAL,
        message=f"Impossible values: {', '.join(sorted(outside))}",
        evidence={"metrics": outside},
    )


RULE = FraudRule(
    name="metric_out_of_bounds",
    description="A bounded metric outside its range, a negative latency or count, or a value that is not finite.",
    check=check,
    actions={Severity.CRITICAL: Action.REJECT},
    threshold_notes={"bounds": "By metric `[least, most]`; null for no bound. Every value has to be finite."},
)
