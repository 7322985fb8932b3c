"""Fraud rule against claimed metrics that differ from the extracted ones."""

from fractions import Fraction
from typing import Any

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_models.governance import Action, Flag, Severity

_SEVERITIES = (Severity.MINOR, Severity.MAJOR, Severity.CRITICAL)
_ROUNDING = Fraction(1, 10**9)
"""Tolerance for binary floats: a difference of exactly 5 % in decimal may be slightly more in binary."""
_MAX_RELATIVE = Fraction(10**9)
"""Largest relative error in the evidence; larger ones are cut to it."""


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a flag with each claim that differs, and the severity of the worst; None if none differs."""
    found = {}
    for name, claimed in case.request.claimed_metrics.items():
        if name not in case.request.extracted_metrics:
            continue
        extracted = case.request.extracted_metrics[name]
        severity = _severity(claimed, extracted, thresholds)
        if severity is not None:
            found[name] = (severity, _figures(claimed, extracted, severity))
    if not found:
        return None
    worst = max((severity for severity, _ in found.values()), key=_SEVERITIES.index)
    return Flag(
        rule=RULE.name,
        severity=worst,
        message=f"Claims differ from what was extracted: {', '.join(sorted(found))}",
        evidence={"metrics": {name: figures for name, (_, figures) in found.items()}},
    )


def _severity(claimed: float | bool, extracted: float | bool | None, thresholds: Thresholds) -> Severity | None:
    if extracted is None:
        return Severity.MAJOR  # the extracted value is not finite
    if isinstance(claimed, bool) or isinstance(extracted, bool):
        return _boolean_severity(claimed, extracted)
    claim, actual = Fraction(claimed), Fraction(extracted)  # exact, without a largest number
    difference = abs(claim - actual)
    if difference <= Fraction(thresholds["absolute_tolerance"]):
        return None
    if claim * actual <= 0:  # one of the two is zero, or they have different signs
        return Severity.CRITICAL
    smaller, larger = sorted((abs(claim), abs(actual)))
    if larger >= smaller * Fraction(thresholds["critical_factor"]):
        return Severity.CRITICAL
    relative = difference / abs(actual) - _ROUNDING
    if relative > Fraction(thresholds["major_relative"]):
        return Severity.MAJOR
    return Severity.MINOR if relative > Fraction(thresholds["minor_relative"]) else None


def _boolean_severity(claimed: float | bool, extracted: float | bool) -> Severity | None:
    # 1 for true has the right value and the wrong type: minor.
    if isinstance(claimed, bool) and isinstance(extracted, bool):
        return None if claimed is extracted else Severity.MAJOR
    return Severity.MINOR if claimed == extracted else Severity.MAJOR


def _figures(claimed: float | bool, extracted: float | bool | None, severity: Severity) -> dict[str, Any]:
    figures = {"claimed": claimed, "extracted": extracted, "severity": severity.value}
    if isinstance(claimed, bool) or isinstance(extracted, bool) or not extracted:
        return figures
    relative = abs(Fraction(claimed) - Fraction(extracted)) / abs(Fraction(extracted))
    return figures | {"relative_error": round(float(min(relative, _MAX_RELATIVE)), 6)}


RULE = FraudRule(
    name="claimed_metric_mismatch",
    description=(
        "A claimed metric differs from the extracted one: by more than 5 % (minor), by more than 20 % (major), "
        "or with a changed sign or by a factor of two (critical)."
    ),
    check=check,
    actions={Severity.MINOR: Action.ALLOW, Severity.MAJOR: Action.HOLD, Severity.CRITICAL: Action.REJECT},
    threshold_notes={
        "absolute_tolerance": "Differences up to this are rounding, whatever the sign.",
        "minor_relative": "Relative difference from the extracted value above which a claim is a minor mismatch.",
        "major_relative": "Relative difference above which it is a major one.",
        "critical_factor": "Factor between claim and extracted value from which on it is a critical one.",
    },
)
