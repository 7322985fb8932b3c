"""A contract that closes is put before an operator instead."""

from aex_models.contract import AttemptStatus
from aex_models.events import OutcomeHeld
from aex_models.governance import GovernanceResult, HoldCause
from aex_models.results import VerificationResult
from aex_outcomes.engine.governance import apply_governance
from aex_outcomes.lifecycle.transitions import held
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.handlers.save_contract import save_contract
from aex_verification.handlers.timers import CONCLUDE
from aex_verification.measures import ATTEMPTS_TOTAL
from aex_verification.repository import ATTEMPTS
from aex_verification.rules.records import AttemptRow, ContractRow


def hold_contract(
    unit: Unit, stored: Stored[ContractRow], attempt: Stored[AttemptRow], word: GovernanceResult, cause: HoldCause
) -> None:
    """Nothing is final, and nothing is settled, until an operator has decided on this attempt."""
    contract_id, attempt_id = stored.record.contract_id, attempt.record.attempt_id
    save_contract(unit, stored, held(stored.record.state, unit.now))
    result = apply_governance(judged_result(attempt.record), word)
    changes = {"status": AttemptStatus.HELD, "result": result}
    unit.update(ATTEMPTS, attempt, attempt.record.model_copy(update=changes))
    event = OutcomeHeld(contract_id=contract_id, attempt_id=attempt_id, cause=cause, flags=word.flags)
    unit.emit("outcome.held", contract_id, event, attempt_id)
    unit.cancel_timer(CONCLUDE, contract_id)
    unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.HELD)


def judged_result(attempt: AttemptRow) -> VerificationResult:
    """What the engine made of the attempt. Raises `LookupError` where it closes a contract without a result."""
    if attempt.result is None:
        raise LookupError(f"{attempt.attempt_id} closes its contract without a result")
    return attempt.result


def closes_on(row: ContractRow, attempt_id: str) -> bool:
    """Whether the contract closes, and on this attempt."""
    return row.state.closes and row.state.current_attempt == attempt_id
