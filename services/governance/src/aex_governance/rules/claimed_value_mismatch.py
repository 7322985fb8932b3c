"""Fraud rule against claimed values that differ from those recomputed from raw data."""

from collections.abc import Mapping
from typing import Any

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_governance.rules.latency_impossible import parse_plain_number
from aex_models.governance import Action, Flag, Severity

_SEVERITIES = (Severity.MINOR, Severity.MAJOR, Severity.CRITICAL)
_MAX_LISTED = 20
_ROUNDING = 1e-9
"""Tolerance for binary floats: an error of exactly 5 % in decimal may be slightly more in binary."""


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a flag with the severity of the worst mismatch; None if there is none.

    A mismatch without any number is major.
    """
    science = case.request.science
    if science is None or not science.mismatches:
        return None
    graded = [(_severity(each, thresholds), each) for each in science.mismatches]
    graded.sort(key=lambda pair: _SEVERITIES.index(pair[0]), reverse=True)
    names = [str(each.get("name", "?"))[:100] for _, each in graded[:_MAX_LISTED]]
    return Flag(
        rule=RULE.name,
        severity=graded[0][0],
        message=f"Claimed values differ from the recomputed ones: {', '.join(names)}",
        evidence={
            "mismatches": [{**each, "severity": severity.value} for severity, each in graded[:_MAX_LISTED]],
            "count": len(graded),
        },
    )


def _severity(mismatch: Mapping[str, Any], thresholds: Thresholds) -> Severity:
    """Return the higher of the severity that the science gate reported and that of the relative error."""
    text = str(mismatch.get("severity", "")).strip().lower()
    severities = [severity for severity in _SEVERITIES if text == severity.value]
    computed = _figure_severity(mismatch, thresholds)
    return max([*severities, *([] if computed is None else [computed])], key=_SEVERITIES.index, default=Severity.MAJOR)


def _figure_severity(mismatch: Mapping[str, Any], thresholds: Thresholds) -> Severity | None:
    claimed, recomputed = parse_plain_number(mismatch.get("claimed")), parse_plain_number(mismatch.get("recomputed"))
    reported = parse_plain_number(mismatch.get("relative_error"))
    errors = [abs(error) for error in (reported, _relative_error(claimed, recomputed)) if error is not None]
    if not errors:
        return None
    worst = max(errors) - _ROUNDING
    changed_sign = (
        claimed is not None and recomputed is not None and (claimed < 0 < recomputed or recomputed < 0 < claimed)
    )
    if changed_sign or worst > thresholds["major_relative"]:
        return Severity.CRITICAL
    return Severity.MAJOR if worst > thresholds["minor_relative"] else Severity.MINOR


def _relative_error(claimed: float | None, recomputed: float | None) -> float | None:
    if claimed is None or recomputed is None:
        return None
    if recomputed == 0:
        return 0.0 if claimed == 0 else float("inf")
    return abs(claimed - recomputed) / abs(recomputed)


RULE = FraudRule(
    name="claimed_value_mismatch",
    description=(
        "A claimed value differs from the one recomputed from raw data: by up to 5 % (minor), by up to 50 % (major), "
        "by more or with a changed sign (critical)."
    ),
    check=check,
    actions={Severity.MINOR: Action.ALLOW, Severity.MAJOR: Action.HOLD, Severity.CRITICAL: Action.HOLD},
    threshold_notes={
        "minor_relative": "Relative error up to which a mismatch is minor, unless the science gate says worse.",
        "major_relative": "Relative error up to which it is major, likewise; beyond, it is critical.",
    },
)
