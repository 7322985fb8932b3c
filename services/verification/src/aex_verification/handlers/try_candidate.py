"""A verdict without a contract: nothing is stored, nobody is charged, governance is not asked."""

import asyncio
from typing import Any

import structlog

from aex_models.canonical import NotCanonical
from aex_models.results import VerificationResult
from aex_models.science import ScienceResult
from aex_outcomes.claim_texts import claim_texts
from aex_outcomes.lifecycle.hashing import candidate_hash
from aex_outcomes.science.confined import ExaminationLost
from aex_outcomes.submission.verify_request import VerifyRequest, check_verify_request
from aex_runtime.errors import InvalidRequest, TemporarilyUnavailable, Unprocessable, told
from aex_runtime.identity.principal import Principal
from aex_verification.deps import Deps
from aex_verification.handlers.examine_candidate import Exhibit, examine_candidate
from aex_verification.ports import Judgement, JudgeRequest
from aex_verification.rules.canonical import not_canonical
from aex_verification.rules.claims import refuse_too_many
from aex_verification.rules.records import Facts

NO_CONTRACT = "none"
"""What stands for the contract in the result."""
PATIENCE_S = 120.0
"""From the request to its verdict, the wait for a worker included: nobody's connection is held for longer."""
_OFF_LOOP_BYTES = 16_384
_BUSY = frozenset({"PoolBusy", "PoolClosed", "WorkersUnavailable"})
_BUSY_RETRY_S, _SANDBOX_RETRY_S, _LOST_RETRY_S = 2, 15, 30
_log = structlog.get_logger(__name__)


async def try_candidate(
    deps: Deps, consumer: Principal, body: Any, size: int, patience_s: float = PATIENCE_S
) -> VerificationResult:
    """Judge what `body`, of `size` bytes, describes, as a candidate of a contract would be.

    What the verifier could not tell is an indeterminate result. Raises `InvalidRequest` or `Unprocessable` with
    everything that is wrong, and `TemporarilyUnavailable` where no worker came to an end with it.
    """
    request, candidate = await _looked_at(deps, body, size)
    attempt_id = deps.ids.new("att")
    judgement = await _judged(deps, consumer, request, attempt_id, patience_s)
    if judgement.result is None:
        _log.warning("verification_lost", attempt_id=attempt_id, error=judgement.error)
        raise _lost(judgement.error)
    return judgement.result.model_copy(update={"candidate_hash": candidate, "verified_at": deps.clock.now()})


async def _judged(
    deps: Deps, consumer: Principal, request: VerifyRequest, attempt_id: str, patience_s: float
) -> Judgement:
    try:
        async with asyncio.timeout(patience_s):
            science = await _science(deps, consumer, request, attempt_id)
            return await deps.judge.judge(_judge_request(consumer, request, attempt_id, science))
    except ExaminationLost as lost:
        return Judgement(None, Facts(), error=str(lost))
    except TimeoutError:
        return Judgement(None, Facts(), error="JobTimeout")


async def _science(deps: Deps, consumer: Principal, request: VerifyRequest, attempt_id: str) -> ScienceResult | None:
    """What the science gate would say, where the request demands science."""
    if request.science is None:
        return None
    exhibit = Exhibit(
        consumer_id=consumer.id,
        attempt_id=attempt_id,
        science=request.science,
        domain=request.domain,
        output=request.output,
        claims=claim_texts(request.claimed_values),
        reasoning=request.reasoning,
        artifacts=request.artifacts,
        data=request.data,
    )
    return await examine_candidate(deps, exhibit)


def _judge_request(
    consumer: Principal, request: VerifyRequest, attempt_id: str, science: ScienceResult | None
) -> JudgeRequest:
    return JudgeRequest(
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


async def _looked_at(deps: Deps, body: Any, size: int) -> tuple[VerifyRequest, str]:
    """The request, and the hash that an attempt with this candidate would have."""
    # Megabytes of schemas, keywords and output are looked at off the loop; for little the way to a thread costs more.
    if size <= _OFF_LOOP_BYTES:
        return _usable(deps, body)
    return await asyncio.to_thread(_usable, deps, body)


def _usable(deps: Deps, body: Any) -> tuple[VerifyRequest, str]:
    checked = check_verify_request(body, deps.catalog, reviewer=deps.reviewer is not None)
    request = checked.request
    if request is None:
        refusal = Unprocessable if checked.only_shape else InvalidRequest
        raise refusal("invalid_verification", told(checked.problems), checked.problems)
    refuse_too_many(request.claimed_values)
    try:
        return request, candidate_hash(request)
    except NotCanonical as error:
        raise not_canonical(error) from error


def _lost(error: str | None) -> TemporarilyUnavailable:
    if error in _BUSY:
        return TemporarilyUnavailable("verifier_busy", "the verifier is busy", retry_after_s=_BUSY_RETRY_S)
    if error == "SandboxUnavailable":
        message = "custom metrics are not served now"
        return TemporarilyUnavailable("sandbox_unavailable", message, retry_after_s=_SANDBOX_RETRY_S)
    if error == "JobTimeout":
        message = "the verification did not end in time; try again later, or with less output"
        return TemporarilyUnavailable("verification_timed_out", message, retry_after_s=_LOST_RETRY_S)
    message = "the verification broke down; nothing is known of the candidate"
    return TemporarilyUnavailable("verification_lost", message, retry_after_s=_LOST_RETRY_S)
