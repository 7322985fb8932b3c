"""What governance is told of the science: what arithmetic found, the worst first, and not without end."""

from aex_models.examination import DomainViolation, MismatchSeverity, ValueMismatch
from aex_models.science import GateReason, ScienceResult
from aex_verification.rules.science_findings import MAX_TOLD, science_findings


def mismatch(name: str, severity: MismatchSeverity = MismatchSeverity.MINOR) -> ValueMismatch:
    return ValueMismatch(name=name, claimed=1.0, actual=2.0, relative_error=0.5, severity=severity, secret=True)


def test_mismatches_are_told_under_the_names_that_the_rules_read() -> None:
    found = science_findings(ScienceResult(passed=False, value_mismatches=(mismatch("mean"),)))
    assert found.mismatches == (
        {"name": "mean", "claimed": 1.0, "recomputed": 2.0, "relative_error": 0.5, "severity": "minor"},
    )


def test_a_violation_is_told_with_its_bounds() -> None:
    violation = DomainViolation(name="mean", message="above 2", value=11.17, min=-5, max=2, source="domain")
    found = science_findings(ScienceResult(passed=False, domain_violations=(violation,)))
    assert found.violations == (
        {"name": "mean", "message": "above 2", "value": 11.17, "min": -5, "max": 2, "source": "domain"},
    )


def test_of_very_many_the_worst_are_told() -> None:
    many = [mismatch(f"n{place}") for place in range(MAX_TOLD)]
    worst = mismatch("worst", MismatchSeverity.CRITICAL)
    found = science_findings(ScienceResult(passed=False, value_mismatches=(*many, worst)))
    assert len(found.mismatches) == MAX_TOLD
    assert found.mismatches[0]["name"] == "worst"


def test_nothing_found_is_told_as_nothing() -> None:
    found = science_findings(ScienceResult(passed=None, reasons=(GateReason(code="reviewer_unreachable"),)))
    assert (found.mismatches, found.violations) == ((), ())
