"""What the agent claims differs from what was extracted."""

from aex_governance.rules.case import Case
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity

_SEVERITIES = (Severity.MINOR, Severity.MAJOR, Severity.CRITICAL)


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Compare claim and extraction, name by name; the worst mismatch gives the severity."""
    found = {}
    for name, claimed in case.request.claimed_metrics.items():
        extracted = case.request.extracted_metrics.get(name)
        if extracted is None:
            continue
        severity = _severity(claimed, extracted, thresholds)
        if severity is not None:
            found[name] = (severity, {"claimed": claimed, "extracted": extracted, "severity": severity.value})
    if not found:
        return None
    worst = max((severity for severity, _ in found.values()), key=_SEVERITIES.index)
    return Flag(
        rule=RULE.name,
        severity=worst,
        message=f"Claims differ from what was extracted: {', '.join(sorted(found))}",
        evidence={"metrics": {name: figures for name, (_, figures) in found.items()}},
    )


def _severity(claimed: float | bool, extracted: float | bool, thresholds: Thresholds) -> Severity | None:
    if isinstance(claimed, bool) or isinstance(extracted, bool):
        return None if claimed is extracted else Severity.MAJOR
    difference = abs(claimed - extracted)
    if difference <= thresholds["absolute_tolerance"]:
        return None
    if claimed * extracted < 0 or _factor(claimed, extracted) >= thresholds["critical_factor"]:
        return Severity.CRITICAL
    # Exactly 5 % in decimal may be a hair more in binary: the hair is not held against anyone.
    relative = difference / abs(extracted) - thresholds["absolute_tolerance"]
    if relative > thresholds["major_relative"]:
        return Severity.MAJOR
    return Severity.MINOR if relative > thresholds["minor_relative"] else None


def _factor(claimed: float, extracted: float) -> float:
    """How many times the smaller the larger is; without bound where one of the two is 0."""
    smaller, larger = sorted((abs(claimed), abs(extracted)))
    return larger / smaller if smaller else float("inf")


RULE = FraudRule(
    name="claimed_metric_mismatch",
    description=(
        "A claimed metric differs from the extracted one: by more than 5 % (minor), by more than 20 % (major), "
        "or with a changed sign or by a factor of two (critical)."
    ),
    check=check,
    actions={Severity.MINOR: Action.ALLOW, Severity.MAJOR: Action.HOLD, Severity.CRITICAL: Action.REJECT},
    threshold_notes={
        "absolute_tolerance": "Differences up to this are rounding.",
        "minor_relative": "Relative difference from the extracted value above which a claim is a minor mismatch.",
        "major_relative": "Relative difference above which it is a major one.",
        "critical_factor": "Factor between claim and extracted value from which on it is a critical one.",
    },
)
