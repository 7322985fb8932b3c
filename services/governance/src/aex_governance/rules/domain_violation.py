"""Values that the domain rules out: what the science gate found."""

from typing import Any

from aex_governance.rules.case import Case
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity

_SHOWN = 20
_EXCERPT = 200


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Any violation raises it."""
    del thresholds
    science = case.request.science
    if science is None or not science.violations:
        return None
    count = len(science.violations)
    return Flag(
        rule=RULE.name,
        severity=Severity.CRITICAL,
        message=f"{count} violation{'s' if count > 1 else ''} of what the domain {case.request.domain[:100]} allows",
        evidence={"violations": [_shown(each) for each in science.violations[:_SHOWN]], "count": count},
    )


def _shown(violation: str | dict[str, Any]) -> str | dict[str, Any]:
    return violation[:_EXCERPT] if isinstance(violation, str) else violation


RULE = FraudRule(
    name="domain_violation",
    description="A claimed value lies outside what its domain or the work's constraints allow.",
    check=check,
    actions={Severity.CRITICAL: Action.HOLD},
    threshold_notes={},
)
