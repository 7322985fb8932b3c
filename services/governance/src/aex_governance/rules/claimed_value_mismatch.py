"""Claimed values that the raw data do not bear out: what the science gate recomputed."""

from collections.abc import Mapping
from typing import Any

from aex_governance.rules.case import Case
from aex_governance.rules.plain_number import plain_number
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity

_SEVERITIES = (Severity.MINOR, Severity.MAJOR, Severity.CRITICAL)
_SHOWN = 20
_HAIR = 1e-9
"""Exactly 5 % in decimal may be a hair more in binary: the hair is not held against anyone."""


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """The worst mismatch gives the severity. One of which nothing can be told is major: unknown is never a pass."""
    science = case.request.science
    if science is None or not science.mismatches:
        return None
    graded = [(_severity(each, thresholds), each) for each in science.mismatches]
    graded.sort(key=lambda pair: _SEVERITIES.index(pair[0]), reverse=True)
    names = [str(each.get("name", "?"))[:100] for _, each in graded[:_SHOWN]]
    return Flag(
        rule=RULE.name,
        severity=graded[0][0],
        message=f"Claimed values differ from the recomputed ones: {', '.join(names)}",
        evidence={
            "mismatches": [{**each, "severity": severity.value} for severity, each in graded[:_SHOWN]],
            "count": len(graded),
        },
    )


def _severity(mismatch: Mapping[str, Any], thresholds: Thresholds) -> Severity:
    """The worse of what the science gate says and of what its own table says of the figures."""
    stated = str(mismatch.get("severity", "")).strip().lower()
    said = [severity for severity in _SEVERITIES if stated == severity.value]
    told = _severity_of_figures(mismatch, thresholds)
    return max([*said, *([] if told is None else [told])], key=_SEVERITIES.index, default=Severity.MAJOR)


def _severity_of_figures(mismatch: Mapping[str, Any], thresholds: Thresholds) -> Severity | None:
    claimed, recomputed = plain_number(mismatch.get("claimed")), plain_number(mismatch.get("recomputed"))
    told = plain_number(mismatch.get("relative_error"))
    errors = [abs(error) for error in (told, _error(claimed, recomputed)) if error is not None]
    if not errors:
        return None
    worst = max(errors) - _HAIR
    changed_sign = (
        claimed is not None and recomputed is not None and (claimed < 0 < recomputed or recomputed < 0 < claimed)
    )
    if changed_sign or worst > thresholds["major_relative"]:
        return Severity.CRITICAL
    return Severity.MAJOR if worst > thresholds["minor_relative"] else Severity.MINOR


def _error(claimed: float | None, recomputed: float | None) -> float | None:
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
