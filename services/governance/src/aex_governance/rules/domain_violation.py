"""Fraud rule against values that the domain excludes, as found by verification's science gate."""

from typing import Any

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_models.governance import Action, Flag, Severity

_MAX_LISTED = 20
_MAX_TEXT = 200


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a critical flag if there are violations; None otherwise."""
    del thresholds
    science = case.request.science
    if science is None or not science.violations:
        return None
    count = len(science.violations)
    return Flag(
        rule=RULE.name,
        severity=Severity.CRITICAL,
        message=f"{count} violation{'s' if count > 1 else ''} of what the domain {case.request.domain[:100]} allows",
        evidence={"violations": [_excerpt(each) for each in science.violations[:_MAX_LISTED]], "count": count},
    )


def _excerpt(violation: str | dict[str, Any]) -> str | dict[str, Any]:
    return violation[:_MAX_TEXT] if isinstance(violation, str) else violation


RULE = FraudRule(
    name="domain_violation",
    description="A claimed value lies outside what its domain or the work's constraints allow.",
    check=check,
    actions={Severity.CRITICAL: Action.HOLD},
    threshold_notes={},
)
