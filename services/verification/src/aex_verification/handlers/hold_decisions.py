"""Application of an operator's hold decision: release, reject or retry."""

from aex_models.canonical import sha256_hex
from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.events import OutcomeReviewed
from aex_models.governance import Action, DecidedBy, Decision, GovernanceResult
from aex_models.results import Verdict
from aex_outcomes.lifecycle.transitions import apply_verdict, retry_held_candidate
from aex_runtime.store.port import key_of
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.conclude import end_contract_and_publish_outcome
from aex_verification.handlers.grade_candidate import load_attempt_inputs
from aex_verification.handlers.save_contract import save_contract_with_events
from aex_verification.handlers.submit_output import enqueue_attempt
from aex_verification.repository import ATTEMPTS, CONTRACTS
from aex_verification.rules.records import AttemptRow, ContractRow
from aex_verification.rules.verdicts import make_indeterminate_result


async def apply_hold_decision(deps: Deps, decision: OutcomeReviewed) -> None:
    """Apply an operator's decision to the held contract; do nothing if this hold is no longer current."""

    async def apply(unit: Unit) -> None:
        stored = await unit.get(CONTRACTS, key_of(decision.contract_id))
        attempt = await unit.get(ATTEMPTS, key_of(decision.attempt_id))
        if stored is None or attempt is None:
            return
        state = stored.record.state
        if state.status is not ContractStatus.HELD or state.current_attempt != decision.attempt_id:
            return
        if decision.decision is Decision.RETRY:
            _retry(deps, unit, stored, attempt, decision)
        else:
            await _finish(deps, unit, stored, attempt, decision)

    await deps.unit_of_work.run(apply)
    deps.notifier.wake(decision.attempt_id)
    deps.subscribers.wake(decision.contract_id)


async def _finish(
    deps: Deps, unit: Unit, stored: Stored[ContractRow], attempt: Stored[AttemptRow], decision: OutcomeReviewed
) -> None:
    """End the contract as the operator decided.

    A release keeps the engine's verdict; an indeterminate one counts as a pass without bonus or penalty. A rejection
    fails the contract for fraud, and its base price is not paid.
    """
    is_released = decision.decision is Decision.RELEASE
    state, result = stored.record.state, attempt.record.result or make_indeterminate_result(attempt.record, unit.now)
    row = attempt.record.model_copy(update={"result": result})
    action, flags = Action.ALLOW if is_released else Action.REJECT, result.governance.flags
    governance = GovernanceResult(action=action, decided_by=DecidedBy.OPERATOR, flags=flags)
    if is_released and row.verdict is Verdict.INDETERMINATE:
        judged_state = apply_verdict(state, Verdict.PASSED, 0.0, unit.now)
        counted = judged_state.verification.attempts_used > state.verification.attempts_used
        stored = Stored(stored.record.model_copy(update={"state": judged_state}), stored.document)
        row = row.model_copy(update={"counted": counted, "judged_at": unit.now})
    status = state.closing or ContractStatus.PASSED if is_released else ContractStatus.FAILED
    inputs = await load_attempt_inputs(unit.transaction, row)
    await end_contract_and_publish_outcome(
        unit, deps.policy, stored, Stored(row, attempt.document), inputs, status, governance
    )


def _retry(
    deps: Deps, unit: Unit, stored: Stored[ContractRow], attempt: Stored[AttemptRow], decision: OutcomeReviewed
) -> None:
    """Queue the candidate as a new attempt, whose id follows from the hold, so that a repeat adds none."""
    attempt_id = f"att_{sha256_hex(decision.hold_id.encode())[:32]}"
    row = attempt.record
    new_row = row.model_copy(
        update={
            "attempt_id": attempt_id,
            "status": AttemptStatus.QUEUED,
            **dict.fromkeys(("verdict", "feedback", "rejected", "result", "last_error", "judged_at")),
            "counted": False,
            "system_retries": 0,
            "governance_tries": 0,
            "operator_retries": row.operator_retries + 1,
        }
    )
    state = retry_held_candidate(stored.record.state, attempt_id, row.candidate_hash, unit.now)
    save_contract_with_events(unit, stored, state)
    unit.update(ATTEMPTS, attempt, row.model_copy(update={"status": AttemptStatus.JUDGED}))
    unit.create(ATTEMPTS, key_of(attempt_id), new_row)
    enqueue_attempt(unit, deps, row.contract_id, attempt_id)
