"""What governance is told of the science behind an attempt."""

from aex_models.examination import MismatchSeverity, ValueMismatch
from aex_models.governance import ScienceFindings
from aex_models.science import ScienceResult

MAX_TOLD = 200
"""Mismatches, and violations, that governance is told of: of more the worst."""
_WORST_FIRST = (MismatchSeverity.CRITICAL, MismatchSeverity.MAJOR, MismatchSeverity.MINOR)


def science_findings(science: ScienceResult) -> ScienceFindings:
    """What arithmetic found. Nothing of a review: what a model says is nobody's fraud."""
    mismatches = sorted(science.value_mismatches, key=lambda each: _WORST_FIRST.index(each.severity))
    violations = science.domain_violations[:MAX_TOLD]
    return ScienceFindings(
        mismatches=tuple(_mismatch(each) for each in mismatches[:MAX_TOLD]),
        violations=tuple(each.model_dump(mode="json", exclude={"secret"}, exclude_none=True) for each in violations),
    )


def _mismatch(mismatch: ValueMismatch) -> dict[str, object]:
    return {
        "name": mismatch.name,
        "claimed": mismatch.claimed,
        "recomputed": mismatch.actual,
        "relative_error": mismatch.relative_error,
        "severity": mismatch.severity.value,
    }
