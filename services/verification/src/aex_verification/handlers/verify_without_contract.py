"""Grading without a contract: nothing is stored or charged, and governance is not called."""

import asyncio
from functools import partial
from typing import Any

import structlog

from aex_models.canonical import NotCanonical
from aex_models.results import VerificationResult
from aex_models.science import ScienceResult
from aex_outcomes.json_values import format_claim_texts
from aex_outcomes.lifecycle.outputs import candidate_hash
from aex_outcomes.science.confined import ExaminationLost
from aex_outcomes.submission.verify_request import CheckedTrial, VerifyRequest, check_verify_request
from aex_runtime.errors import InvalidRequest, TemporarilyUnavailable, Unprocessable, summarize_problems
from aex_runtime.identity.principals import Principal
from aex_verification.deps import Deps
from aex_verification.handlers.examine_candidate import ExaminationInput, examine_candidate
from aex_verification.ports import Grade, GradeRequest
from aex_verification.rules.candidates import make_not_canonical_refusal, require_claims_within_limit

NO_CONTRACT = "none"
"""Value of `contract_id` in the result."""
TIME_LIMIT_S = 120.0
"""Seconds from the request to its verdict, including the wait for a worker."""
_MAX_INLINE_BYTES = 16_384
_BUSY = ("verifier_busy", "the verifier is busy", 2)
_UNAVAILABLE: dict[str | None, tuple[str, str, int]] = {
    "PoolBusy": _BUSY,
    "PoolClosed": _BUSY,
    "WorkersUnavailable": _BUSY,
    "SandboxUnavailable": ("sandbox_unavailable", "custom metrics are not served now", 15),
    "JobTimeout": (
        "verification_timed_out",
        "the verification did not end in time; try again later, or with less output",
        30,
    ),
}
"""Error code, message and seconds before a retry, by the grade's error."""
_LOST = ("verification_lost", "the verification broke down; nothing is known of the candidate", 30)
_log = structlog.get_logger(__name__)


async def grade_without_contract(
    deps: Deps, consumer: Principal, body: Any, body_bytes: int, time_limit_s: float = TIME_LIMIT_S
) -> VerificationResult:
    """Grade the output in a request body of `body_bytes` bytes like a candidate of a contract.

    The result may be indeterminate. Raises `InvalidRequest` or `Unprocessable` with all problems of the request, and
    `TemporarilyUnavailable` if no worker finished in time.
    """
    # Megabytes of schemas, keywords and output are checked off the loop; for few bytes a thread costs more.
    check = partial(_check_request, deps, body)
    request, candidate = check() if body_bytes <= _MAX_INLINE_BYTES else await asyncio.to_thread(check)
    attempt_id = deps.ids.new("att")
    grade = await _grade(deps, consumer, request, attempt_id, time_limit_s)
    return finish_result_or_raise(deps, grade, attempt_id, candidate)


def finish_result_or_raise(deps: Deps, grade: Grade, attempt_id: str, candidate: str) -> VerificationResult:
    """Return the grade's result with the hash of its candidate and the time.

    Raises `TemporarilyUnavailable` if grading failed.
    """
    if grade.result is None:
        _log.warning("verification_lost", attempt_id=attempt_id, error=grade.error)
        code, message, retry_after_s = _UNAVAILABLE.get(grade.error, _LOST)
        raise TemporarilyUnavailable(code, message, retry_after_s=retry_after_s)
    return grade.result.model_copy(update={"candidate_hash": candidate, "verified_at": deps.clock.now()})


async def _grade(
    deps: Deps, consumer: Principal, request: VerifyRequest, attempt_id: str, time_limit_s: float
) -> Grade:
    try:
        async with asyncio.timeout(time_limit_s):
            science = await _examine(deps, consumer, request, attempt_id)
            return await deps.grader.grade(make_grade_request(consumer, request, attempt_id, science))
    except ExaminationLost as lost:
        return Grade(None, error=str(lost))
    except TimeoutError:
        return Grade(None, error="JobTimeout")


def make_grade_request(
    consumer: Principal, request: VerifyRequest, attempt_id: str, science: ScienceResult | None = None
) -> GradeRequest:
    """Return the input of grading for an output without a contract."""
    return GradeRequest(
        contract_id=NO_CONTRACT,
        attempt_id=attempt_id,
        consumer_id=consumer.id,
        success_criteria=request.success_criteria,
        work_input=request.input,
        evaluation=request.evaluation,
        output=request.output,
        execution_metadata=request.execution_metadata,
        platform_latency_ms=request.platform_latency_ms,
        reasoning=request.reasoning,
        science=science,
    )


async def _examine(deps: Deps, consumer: Principal, request: VerifyRequest, attempt_id: str) -> ScienceResult | None:
    if request.science is None:
        return None
    examination = ExaminationInput(
        consumer_id=consumer.id,
        attempt_id=attempt_id,
        science=request.science,
        domain=request.domain,
        output=request.output,
        claims=format_claim_texts(request.claimed_values),
        reasoning=request.reasoning,
        artifacts=request.artifacts,
        data=request.data,
    )
    return await examine_candidate(deps, examination)


def _check_request(deps: Deps, body: Any) -> tuple[VerifyRequest, str]:
    """Return the parsed request, and the hash that a candidate with this content would have."""
    return require_valid_request(check_verify_request(body, deps.catalog, has_reviewer=deps.reviewer is not None))


def require_valid_request(checked: CheckedTrial[VerifyRequest]) -> tuple[VerifyRequest, str]:
    """Return a checked request and the hash that a candidate with this content would have.

    Raises `InvalidRequest` or `Unprocessable` with all its problems.
    """
    request = checked.request
    if request is None:
        raise make_refusal(checked)
    require_claims_within_limit(request.claimed_values)
    try:
        return request, candidate_hash(request)
    except NotCanonical as error:
        raise make_not_canonical_refusal(error) from error


def make_refusal(checked: CheckedTrial[VerifyRequest]) -> InvalidRequest | Unprocessable:
    """Return the refusal of a request with problems: 422 if only fields are missing or wrong, else 400."""
    refusal = Unprocessable if checked.only_shape else InvalidRequest
    return refusal("invalid_verification", summarize_problems(checked.problems), checked.problems)
