from datetime import timedelta
from typing import Any

import pytest

from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_models.examination import Fault
from aex_models.governance import Action, GovernanceResult, HoldCause
from aex_models.results import CUSTOM_METRIC_FAILED, CriterionError, CriterionResult, Verdict, VerificationResult
from aex_models.science import ReviewFailure, ScienceResult
from aex_models.thresholds import ComparisonOperator, MetricType
from aex_outcomes.config import DATA_SANDBOX
from aex_verification.rules.records import Policy, compute_verification_lease
from aex_verification.rules.verdicts import (
    compute_capped_custom_time_limit_s,
    count_max_custom_runs,
    lacks_sandbox,
    needs_custom_code,
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


EVALUATION = Evaluation.model_validate(
    {"custom_metrics": [{"name": "mine", "code": "def evaluate(i, o, m): return 1"}]}
)


def criteria(*metrics: str) -> SuccessCriteria:
    rows: list[dict[str, Any]] = [
        {"metric": metric, "metric_type": "numeric", "comparison": "gte", "threshold": at}
        for at, metric in enumerate(metrics)
    ]
    return SuccessCriteria.model_validate({"criteria": rows})


@pytest.mark.parametrize(
    ("required", "needed"),
    [(None, False), (criteria("word_count"), False), (criteria("word_count", "custom.mine"), True)],
    ids=["no criteria", "built-in metrics alone", "one of its own"],
)
def test_criterion_on_custom_code_needs_it(required: SuccessCriteria | None, needed: bool) -> None:
    assert needs_custom_code(required) is needed


@pytest.mark.parametrize(
    ("required", "evaluation", "runs"),
    [
        (None, EVALUATION, 0),
        (criteria("custom.mine"), None, 0),
        (criteria("custom.mine"), Evaluation(reference="A harbour."), 0),
        (criteria("word_count"), EVALUATION, 0),
        (criteria("custom.mine", "word_count", "custom.mine"), EVALUATION, 2),
    ],
    ids=["no criteria", "no evaluation data", "no code", "code without criteria", "two criteria on code"],
)
def test_each_criterion_on_custom_code_is_a_run(
    required: SuccessCriteria | None, evaluation: Evaluation | None, runs: int
) -> None:
    assert count_max_custom_runs(required, evaluation) == runs


def test_time_of_all_runs_is_bounded() -> None:
    assert compute_capped_custom_time_limit_s(3, 2_500) == 7.5
    assert compute_capped_custom_time_limit_s(100, 30_000) == 600


def test_missing_sandbox_is_recognised() -> None:
    assert [lacks_sandbox(result(code)) for code in (None, CUSTOM, LOST)] == [False, False, True]


def test_lease_outlasts_reading_and_review() -> None:
    reading, reviewing = timedelta(milliseconds=DATA_SANDBOX.timeout_ms), timedelta(seconds=180)
    assert compute_verification_lease(reading, reviewing) > 2 * reading + reviewing
    assert compute_verification_lease(timedelta(0), timedelta(0)) == Policy().verification_lease
