"""The worker's job: judge the current candidate, count it once, and hand a closing contract to governance.

Runs at least once for each attempt. Whoever comes second finds the state moved on and does nothing.
"""

from dataclasses import replace

import structlog
from pydantic import ValidationError

from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.events import OutcomeHeld, OutputRejected
from aex_models.governance import HoldCause
from aex_models.results import Verdict, VerificationResult
from aex_outcomes.feedback import render_feedback
from aex_outcomes.lifecycle.state import ContractState
from aex_outcomes.lifecycle.transitions import failed_to_verify, judged
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing
from aex_runtime.store.keys import key_of
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.conclude import conclude_contract
from aex_verification.handlers.timers import CONCLUDE, DEADLINE, VERIFY
from aex_verification.ports import Judgement, JudgeRequest
from aex_verification.repository import ATTEMPTS, AWARDS, CANDIDATES, CONTRACTS
from aex_verification.rules.evaluation import read_evaluation
from aex_verification.rules.policy import SYSTEM_BACKOFF
from aex_verification.rules.records import AttemptRow, ContractRow, Facts

log = structlog.get_logger()


async def verify_attempt(deps: Deps, contract_id: str, attempt_id: str) -> None:
    """Verify the attempt where it is still the contract's current one, then conclude where it closes."""
    if attempt_id in deps.under_way:
        return  # a second delivery; whoever is at it has the timer behind it
    with deps.under_way.hold(attempt_id):
        stored = await CONTRACTS.get(deps.store, key_of(contract_id))
        if stored is None or not _is_current(stored.record.state, attempt_id):
            return
        if stored.record.state.closing is None:
            request = await _request(deps, contract_id, attempt_id)
            judgement = await _judgement(deps, request)
            state = await _record(deps, request, judgement, stored.record.state.system_retries)
            if state is not None:
                _tell(state, attempt_id, judgement)
            deps.waits.wake(attempt_id)
        await conclude_contract(deps, contract_id)


async def _request(deps: Deps, contract_id: str, attempt_id: str) -> JudgeRequest:
    awarded = await AWARDS.get(deps.store, key_of(contract_id))
    attempt = await ATTEMPTS.get(deps.store, key_of(attempt_id))
    if awarded is None or attempt is None:
        raise LookupError(f"{contract_id} has no award or no attempt {attempt_id}")
    candidate = await CANDIDATES.get(deps.store, attempt.record.candidate_key)
    if candidate is None:
        raise LookupError(f"{attempt_id} has no candidate")
    return JudgeRequest(
        contract_id=contract_id,
        attempt_id=attempt_id,
        awarded=awarded.record,
        evaluation=None,
        candidate=candidate.record,
        platform_latency_ms=attempt.record.platform_latency_ms,
    )


async def _judgement(deps: Deps, request: JudgeRequest) -> Judgement:
    """The verdict, with the evaluation data at hand. Data that are lost are the platform's failure, not a wait."""
    named = request.awarded.evaluation
    if named is None:
        return await deps.judge.judge(request)
    try:
        evaluation = read_evaluation(await deps.blobs.get("evaluation", named.digest))
    except (BlobMissing, BlobCorrupt, ValidationError) as error:
        kind = type(error).__name__  # its text may quote the data, and so may its traceback
        log.critical("evaluation_lost", contract_id=request.contract_id, attempt_id=request.attempt_id, kind=kind)
        return Judgement(None, Facts(), error=f"EvaluationLost ({kind})")
    return await deps.judge.judge(replace(request, evaluation=evaluation))


async def _record(
    deps: Deps, request: JudgeRequest, judgement: Judgement, failures_before: int
) -> ContractState | None:
    """Write the verdict, or the platform's own failure; the state that came of it, None where it had moved on."""

    async def record(unit: Unit) -> ContractState | None:
        stored = await unit.get(CONTRACTS, key_of(request.contract_id))
        attempt = await unit.get(ATTEMPTS, key_of(request.attempt_id))
        if stored is None or attempt is None or not _is_current(stored.record.state, request.attempt_id):
            return None
        if stored.record.state.closing is not None:
            return None
        if judgement.result is None or judgement.result.verdict is Verdict.INDETERMINATE:
            if stored.record.state.system_retries != failures_before:
                return None  # another replica was at the same try, and has recorded its failure
            return _record_failure(deps, unit, stored, attempt, judgement)
        return _record_verdict(deps, unit, request, stored, attempt, judgement.result, judgement)

    return await deps.unit_of_work.run(record)


def _record_verdict(
    deps: Deps,
    unit: Unit,
    request: JudgeRequest,
    stored: Stored[ContractRow],
    attempt: Stored[AttemptRow],
    result: VerificationResult,
    judgement: Judgement,
) -> ContractState:
    before = stored.record.state
    state = judged(before, result.verdict, result.weighted_score, unit.now)
    result = result.model_copy(update={"candidate_hash": attempt.record.candidate_hash, "verified_at": unit.now})
    passed = result.verdict is Verdict.PASSED
    work = request.awarded.work
    feedback = (
        None
        if passed
        else render_feedback(
            result,
            attempt=state.verification.attempts_used,
            max_attempts=state.verification.max_attempts,
            level=work.verification.feedback,
        )
    )
    row = attempt.record.model_copy(
        update={
            # A pass is told only once governance has allowed it.
            "status": AttemptStatus.VERIFYING if passed else AttemptStatus.JUDGED,
            "verdict": result.verdict,
            "counted": state.verification.attempts_used > before.verification.attempts_used,
            "feedback": feedback,
            "result": result,
            "facts": judgement.facts,
            "judged_at": unit.now,
            "last_error": None,
        }
    )
    if not passed:
        state = state.model_copy(update={"last_feedback": feedback})
        event = OutputRejected(contract_id=row.contract_id, attempt_id=row.attempt_id, code="criteria_not_met")
        unit.emit("output.rejected", row.contract_id, event, row.attempt_id)
    unit.update(CONTRACTS, stored, stored.record.model_copy(update={"state": state}))
    unit.update(ATTEMPTS, attempt, row)
    unit.cancel_timer(VERIFY, row.attempt_id)
    if state.closing is not None:
        # Concluded right after this commit; the timer is for the case that the process ends in between.
        unit.set_timer(CONCLUDE, row.contract_id, unit.now + deps.policy.lease)
    else:
        # It may have fired while the candidate was under verification, on a clock that was ahead of this one.
        unit.set_timer(DEADLINE, row.contract_id, state.deadline)
    return state


def _record_failure(
    deps: Deps, unit: Unit, stored: Stored[ContractRow], attempt: Stored[AttemptRow], judgement: Judgement
) -> ContractState:
    state = failed_to_verify(stored.record.state, deps.policy.max_system_retries, unit.now)
    row = attempt.record
    error = judgement.error or "indeterminate"
    contract_id, attempt_id = row.contract_id, row.attempt_id
    held = state.status is ContractStatus.HELD
    if held:
        event = OutcomeHeld(contract_id=contract_id, attempt_id=attempt_id, cause=HoldCause.SYSTEM_RETRIES_EXHAUSTED)
        unit.emit("outcome.held", contract_id, event, attempt_id)
        unit.cancel_timer(VERIFY, attempt_id)
    else:
        delay = SYSTEM_BACKOFF.delay(state.system_retries, deps.ids.jitter())
        unit.set_timer(VERIFY, attempt_id, unit.now + delay, {"contract_id": contract_id})
    unit.update(CONTRACTS, stored, stored.record.model_copy(update={"state": state}))
    changes = {
        "status": AttemptStatus.HELD if held else AttemptStatus.WAITING,
        "verdict": Verdict.INDETERMINATE if held else None,
        "result": judgement.result,
        "facts": judgement.facts,
        "system_retries": state.system_retries,
        "last_error": error,
    }
    unit.update(ATTEMPTS, attempt, row.model_copy(update=changes))
    return state


def _tell(state: ContractState, attempt_id: str, judgement: Judgement) -> None:
    """Log what was committed: here, because a transaction may run more than once."""
    told = log.bind(contract_id=state.contract_id, attempt_id=attempt_id)
    if judgement.result is not None and judgement.result.verdict is not Verdict.INDETERMINATE:
        told.info("candidate_judged", verdict=judgement.result.verdict)
    else:
        error = judgement.error or "indeterminate"
        told.warning("verification_failed", error=error, retries=state.system_retries, status=state.status)


def _is_current(state: ContractState, attempt_id: str) -> bool:
    return state.status is ContractStatus.VERIFYING and state.current_attempt == attempt_id
