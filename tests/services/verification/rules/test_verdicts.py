from datetime import timedelta

import pytest

from aex_models.examination import Fault
from aex_models.governance import Action, GovernanceResult, HoldCause
from aex_models.results import CUSTOM_METRIC_FAILED, CriterionError, CriterionResult, Verdict, VerificationResult
from aex_models.science import ReviewFailure, ScienceResult
from aex_models.thresholds import ComparisonOperator, MetricType
from aex_outcomes.config import DATA_SANDBOX
from aex_verification.rules.records import Policy, compute_verification_lease
from aex_verification.rules.verdicts import (
    lacks_sandbox,
    permanent_hold_cause,
)
from tests.parts.verification import START

CUSTOM, LOST = CUSTOM_METRIC_FAILED, "sandbox_unavailable"


def result(code: str | None = None, failure: ReviewFailure | None = None) -> VerificationResult:
    error = CriterionError(code=code, message="", fault=Fault.PLATFORM) if code else None
    criterion = CriterionResult(
        metric="custom.mine",
        metric_type=MetricType.NUMERIC,
        comparison=ComparisonOperator.GTE,
        threshold=1,
        required=True,
        weight=1,
        met=False,
        error=error,
    )
    return VerificationResult(
        verification_id="ver_1",
        contract_id="ctr_1",
        verdict=Verdict.INDETERMINATE,
        success=False,
        criterion_results=(criterion,),
        weighted_score=0.0,
        science=ScienceResult(passed=None, review_failure=failure) if failure else None,
        governance=GovernanceResult(action=Action.SKIPPED),
        engine_version="1",
        verified_at=START,
    )


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (result(), None),
        (result(LOST), None),
        (result(CUSTOM), HoldCause.CUSTOM_METRIC_FAILED),
        (result(None, ReviewFailure.UNPARSABLE), HoldCause.REVIEW_UNPARSABLE),
        (result(CUSTOM, ReviewFailure.UNPARSABLE), HoldCause.REVIEW_UNPARSABLE),
        (result(None, ReviewFailure.UNREACHABLE), None),
        (result(CUSTOM, ReviewFailure.UNREACHABLE), None),
    ],
)
def test_permanent_failures_alone_have_a_hold_cause(found: VerificationResult, cause: HoldCause | None) -> None:
    assert permanent_hold_cause(found) is cause


def test_missing_sandbox_is_recognised() -> None:
    assert [lacks_sandbox(result(code)) for code in (None, CUSTOM, LOST)] == [False, False, True]


def test_lease_outlasts_reading_and_review() -> None:
    reading, reviewing = timedelta(milliseconds=DATA_SANDBOX.timeout_ms), timedelta(seconds=180)
    assert compute_verification_lease(reading, reviewing) > 2 * reading + reviewing
    assert compute_verification_lease(timedelta(0), timedelta(0)) == Policy().verification_lease
