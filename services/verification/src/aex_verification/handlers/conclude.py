"""Before anything becomes final, governance is asked; then the contract ends, or is held for an operator."""

from typing import Any

import structlog

from aex_models.contract import AttemptStatus, Candidate, ContractStatus
from aex_models.events import ContractAwarded
from aex_models.governance import Action, GovernanceResult, HoldCause, ValidationDecision
from aex_outcomes.engine.governance import apply_governance, word_of
from aex_outcomes.lifecycle.transitions import ended
from aex_runtime.store.keys import key_of
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.earlier_attempts import earlier_attempts
from aex_verification.handlers.finish import write_outcome
from aex_verification.handlers.hold_contract import closes_on, hold_contract, judged_result
from aex_verification.handlers.judge_candidate import Job, find_job
from aex_verification.handlers.materials import Materials
from aex_verification.handlers.save_contract import save_contract
from aex_verification.handlers.without_governance import ask_again_or_hold, wait_for_governance
from aex_verification.ports import GovernanceRefused, GovernanceUnavailable
from aex_verification.repository import ATTEMPTS, CONTRACTS, FINAL_RESULTS
from aex_verification.rules.records import AttemptRow, ContractRow
from aex_verification.rules.validation import validation_request

log = structlog.get_logger()


async def conclude_contract(deps: Deps, contract_id: str) -> None:
    """Have the contract that closes end as `conclude_on` does. No-op where it does not close."""
    stored = await CONTRACTS.get(deps.store, key_of(contract_id))
    if stored is None or not stored.record.state.closes:
        return
    attempt_id = stored.record.state.current_attempt
    if attempt_id is None:
        raise LookupError(f"{contract_id} closes without an attempt")
    await conclude_on(deps, await find_job(deps, stored.record.state, attempt_id))


async def conclude_on(deps: Deps, job: Job) -> None:
    """Ask governance about the attempt that the outcome rests on, and do as it says.

    `job` is as it was last recorded; what others have made of the contract meanwhile is seen when it ends.
    """
    contract_id, attempt_id = job.contract_id, job.attempt_id
    try:
        decision = await _decision(deps, job)
    except GovernanceUnavailable as error:
        log.warning("governance_unreachable", contract_id=contract_id, error=str(error))
        await wait_for_governance(deps, contract_id, attempt_id)
    except GovernanceRefused as error:
        log.warning("governance_refused", contract_id=contract_id, attempt_id=attempt_id, error=str(error))
        await ask_again_or_hold(deps, contract_id, attempt_id)
    else:
        await _apply(deps, job, decision)
    deps.waits.wake(attempt_id)
    deps.followers.wake(contract_id)


async def _decision(deps: Deps, job: Job) -> ValidationDecision:
    """What governance says."""
    if not deps.policy.governance_check:
        return ValidationDecision(valid=True, action=Action.SKIPPED)
    earlier = await earlier_attempts(deps, job.state, job.attempt)
    request = validation_request(job.awarded, job.attempt, job.candidate, earlier)
    return await deps.governance.validate(request)


async def _apply(deps: Deps, job: Job, decision: ValidationDecision) -> None:
    """Do as governance says of this attempt. An operator's retry may have put another in its place meanwhile."""
    contract_id, attempt_id, word = job.contract_id, job.attempt_id, word_of(decision)

    async def apply(unit: Unit) -> ContractStatus | None:
        stored = await unit.get(CONTRACTS, key_of(contract_id))
        attempt = await unit.get(ATTEMPTS, key_of(attempt_id))
        if stored is None or attempt is None or not closes_on(stored.record, attempt_id):
            return None
        if word.action is Action.HOLD:
            hold_contract(unit, stored, attempt, word, HoldCause.FRAUD_SUSPECTED)
            return ContractStatus.HELD
        status = stored.record.state.closing or ContractStatus.FAILED
        if word.action is Action.REJECT:
            status = ContractStatus.FAILED
        await finish_contract(unit, stored, attempt, job.materials, status, word)
        return status

    moved_to = await deps.unit_of_work.run(apply)
    if moved_to is not None:
        log.info("contract_concluded", contract_id=contract_id, status=moved_to, governance=word.action)


async def finish_contract(
    unit: Unit,
    stored: Stored[ContractRow],
    attempt: Stored[AttemptRow],
    materials: Materials,
    status: ContractStatus,
    word: GovernanceResult,
) -> None:
    """End the contract in `status` on this attempt, under governance's word: state, attempt, outcome together."""
    awarded, candidate = materials.awarded, materials.candidate
    result = apply_governance(judged_result(attempt.record), word)
    state = ended(stored.record.state, status, unit.now)
    final_result = await _final_result(unit, awarded, attempt.record, candidate)
    await write_outcome(unit, awarded, state, result, candidate, final_result)
    save_contract(unit, stored, state)
    changes = {"status": AttemptStatus.JUDGED, "verdict": result.verdict, "result": result}
    unit.update(ATTEMPTS, attempt, attempt.record.model_copy(update=changes))


async def _final_result(unit: Unit, awarded: ContractAwarded, attempt: AttemptRow, candidate: Candidate) -> Any:
    """What the named verifier returned. The output itself where there is no verifier, and where there is but an
    operator released the candidate in its stead: it never returned anything."""
    if awarded.work.verification.verifier is None:
        return candidate.output
    stored = await unit.get(FINAL_RESULTS, key_of(attempt.attempt_id))
    return stored.record.final_result if stored else candidate.output
