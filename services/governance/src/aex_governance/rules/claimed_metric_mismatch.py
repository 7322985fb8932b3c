"""What the agent claims differs from what was extracted."""

from fractions import Fraction
from typing import Any

from aex_governance.rules.case import Case
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity

_SEVERITIES = (Severity.MINOR, Severity.MAJOR, Severity.CRITICAL)
_HAIR = Fraction(1, 10**9)
"""Exactly 5 % in decimal may be a hair more in binary: the hair is not held against anyone."""
_MOST_SHOWN = Fraction(10**9)
"""Relative errors beyond are told as this: no float holds all of them."""


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Compare claim and extraction, name by name; the worst mismatch gives the severity."""
    found = {}
    for name, claimed in case.request.claimed_metrics.items():
        if name not in case.request.extracted_metrics:
            continue  # nothing to compare it with
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
        return Severity.MAJOR  # a finite claim of what is not finite: nothing bears it out
    if isinstance(claimed, bool) or isinstance(extracted, bool):
        return _severity_of_answers(claimed, extracted)
    said, seen = Fraction(claimed), Fraction(extracted)  # exact, and without a largest number
    difference = abs(said - seen)
    if difference <= Fraction(thresholds["absolute_tolerance"]):
        return None
    if said * seen <= 0:  # one of the two is zero, or they have different signs
        return Severity.CRITICAL
    smaller, larger = sorted((abs(said), abs(seen)))
    if larger >= smaller * Fraction(thresholds["critical_factor"]):
        return Severity.CRITICAL
    relative = difference / abs(seen) - _HAIR
    if relative > Fraction(thresholds["major_relative"]):
        return Severity.MAJOR
    return Severity.MINOR if relative > Fraction(thresholds["minor_relative"]) else None


def _severity_of_answers(claimed: float | bool, extracted: float | bool) -> Severity | None:
    """A boolean is never a number: 1 for true is the wrong kind of claim, though not a wrong one."""
    if isinstance(claimed, bool) and isinstance(extracted, bool):
        return None if claimed is extracted else Severity.MAJOR
    return Severity.MINOR if claimed == extracted else Severity.MAJOR


def _figures(claimed: float | bool, extracted: float | bool | None, severity: Severity) -> dict[str, Any]:
    figures = {"claimed": claimed, "extracted": extracted, "severity": severity.value}
    if isinstance(claimed, bool) or isinstance(extracted, bool) or not extracted:
        return figures
    relative = abs(Fraction(claimed) - Fraction(extracted)) / abs(Fraction(extracted))
    return figures | {"relative_error": round(float(min(relative, _MOST_SHOWN)), 6)}


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
