"""Which verdicts no repeat will bring."""

import pytest

from aex_models.faults import Fault
from aex_models.governance import Action, GovernanceResult, HoldCause
from aex_models.results import CUSTOM_METRIC_FAILED, CriterionError, CriterionResult, Verdict, VerificationResult
from aex_models.science import ReviewFailure, ScienceResult
from aex_models.thresholds import ComparisonOperator, MetricType
from aex_verification.rules.inconclusive import cause_for_good
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
def test_only_what_stays_as_it_is_goes_to_an_operator_at_once(
    found: VerificationResult, cause: HoldCause | None
) -> None:
    assert cause_for_good(found) is cause
