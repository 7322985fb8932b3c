"""What a judgement makes of its attempt and contract, inside one transaction."""

from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.events import ContractAwarded, OutcomeHeld, OutputRejected
from aex_models.governance import HoldCause
from aex_models.results import Verdict, VerificationResult
from aex_outcomes.feedback import render_feedback
from aex_outcomes.lifecycle.state import ContractState
from aex_outcomes.lifecycle.transitions import failed_to_verify, judged
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.save_contract import Rejecting, save_contract
from aex_verification.handlers.timers import CONCLUDE, DEADLINE, VERIFY
from aex_verification.ports import Judgement
from aex_verification.repository import ATTEMPTS
from aex_verification.rules.custom_code import is_fault_of_custom_code
from aex_verification.rules.policy import SYSTEM_BACKOFF
from aex_verification.rules.records import AttemptRow, ContractRow


def record_verdict(
    deps: Deps,
    unit: Unit,
    awarded: ContractAwarded,
    stored: Stored[ContractRow],
    attempt: Stored[AttemptRow],
    result: VerificationResult,
    judgement: Judgement,
) -> ContractState:
    """Count the verdict; tell the agent of a rejection, and hand what closes to governance."""
    before = stored.record.state
    state = judged(before, result.verdict, result.weighted_score, unit.now)
    result = _of_attempt(result, attempt.record, unit)
    passed = result.verdict is Verdict.PASSED
    feedback = (
        None
        if passed
        else render_feedback(
            result,
            attempt=state.verification.attempts_used,
            max_attempts=state.verification.max_attempts,
            level=awarded.work.verification.feedback,
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
    rejecting = None
    if not passed:
        state = state.model_copy(update={"last_feedback": feedback})
        rejecting = Rejecting(row.attempt_id, row.counted, "criteria_not_met", None)
        event = OutputRejected(contract_id=row.contract_id, attempt_id=row.attempt_id, code="criteria_not_met")
        unit.emit("output.rejected", row.contract_id, event, row.attempt_id)
    save_contract(unit, stored, state, rejecting)
    unit.update(ATTEMPTS, attempt, row)
    unit.cancel_timer(VERIFY, row.attempt_id)
    if state.closing is not None:
        # Concluded right after this commit; the timer is for the case that the process ends in between.
        unit.set_timer(CONCLUDE, row.contract_id, unit.now + deps.policy.lease)
    else:
        # It may have fired while the candidate was under verification, on a clock that was ahead of this one.
        unit.set_timer(DEADLINE, row.contract_id, state.deadline)
    return state


def record_failure(
    deps: Deps, unit: Unit, stored: Stored[ContractRow], attempt: Stored[AttemptRow], judgement: Judgement
) -> ContractState:
    """Try again in a while, or put it before an operator: at once where it is the consumer's code that fails."""
    fails_again = judgement.result is not None and is_fault_of_custom_code(judgement.result)
    state = failed_to_verify(stored.record.state, 0 if fails_again else deps.policy.max_system_retries, unit.now)
    row = attempt.record
    contract_id, attempt_id = row.contract_id, row.attempt_id
    held = state.status is ContractStatus.HELD
    if held:
        cause = HoldCause.CUSTOM_METRIC_FAILED if fails_again else HoldCause.SYSTEM_RETRIES_EXHAUSTED
        event = OutcomeHeld(contract_id=contract_id, attempt_id=attempt_id, cause=cause)
        unit.emit("outcome.held", contract_id, event, attempt_id)
        unit.cancel_timer(VERIFY, attempt_id)
    else:
        delay = SYSTEM_BACKOFF.delay(state.system_retries, deps.ids.jitter())
        unit.set_timer(VERIFY, attempt_id, unit.now + delay, {"contract_id": contract_id})
    save_contract(unit, stored, state)
    changes = {
        "status": AttemptStatus.HELD if held else AttemptStatus.WAITING,
        "verdict": Verdict.INDETERMINATE if held else None,
        "result": _of_attempt(judgement.result, row, unit) if judgement.result else None,
        "facts": judgement.facts,
        "system_retries": state.system_retries,
        "last_error": judgement.error or "indeterminate",
    }
    unit.update(ATTEMPTS, attempt, row.model_copy(update=changes))
    return state


def _of_attempt(result: VerificationResult, attempt: AttemptRow, unit: Unit) -> VerificationResult:
    """The worker's result with what the platform alone can say: of which candidate it is, and since when it holds."""
    return result.model_copy(update={"candidate_hash": attempt.candidate_hash, "verified_at": unit.now})
