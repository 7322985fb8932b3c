from aex_models.examination import DomainViolation, MismatchSeverity, ValueMismatch
from aex_models.science import GateReason, ScienceResult
from aex_verification.rules.governance import MAX_SCIENCE_FINDINGS, summarize_science


def mismatch(name: str, severity: MismatchSeverity = MismatchSeverity.MINOR) -> ValueMismatch:
    return ValueMismatch(name=name, claimed=1.0, actual=2.0, relative_error=0.5, severity=severity, secret=True)


def test_findings_have_the_names_that_rules_read() -> None:
    violation = DomainViolation(name="mean", message="above 2", value=11.17, min=-5, max=2, source="domain")
    found = summarize_science(
        ScienceResult(passed=False, value_mismatches=(mismatch("mean"),), domain_violations=(violation,))
    )
    assert found.mismatches == (
        {"name": "mean", "claimed": 1.0, "recomputed": 2.0, "relative_error": 0.5, "severity": "minor"},
    )
    assert found.violations == (
        {"name": "mean", "message": "above 2", "value": 11.17, "min": -5, "max": 2, "source": "domain"},
    )


def test_worst_mismatches_come_first_within_the_limit() -> None:
    many = [mismatch(f"n{place}") for place in range(MAX_SCIENCE_FINDINGS)]
    worst = mismatch("worst", MismatchSeverity.CRITICAL)
    found = summarize_science(ScienceResult(passed=False, value_mismatches=(*many, worst)))
    assert len(found.mismatches) == MAX_SCIENCE_FINDINGS
    assert found.mismatches[0]["name"] == "worst"


def test_empty_science_has_no_findings() -> None:
    found = summarize_science(ScienceResult(passed=None, reasons=(GateReason(code="reviewer_unreachable"),)))
    assert (found.mismatches, found.violations) == ((), ())
