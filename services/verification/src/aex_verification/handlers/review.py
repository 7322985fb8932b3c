"""An operator has decided a held outcome: release it, reject it, or have it verified anew."""

from aex_models.canonical import sha256_hex
from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.events import OutcomeReviewed
from aex_models.governance import Action, DecidedBy, Decision, Flag, GovernanceResult
from aex_models.results import Verdict
from aex_outcomes.lifecycle.transitions import judged, retried
from aex_runtime.store.keys import key_of
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.conclude import finish_contract
from aex_verification.handlers.materials import read_materials
from aex_verification.handlers.save_contract import save_contract
from aex_verification.handlers.submit_output import enqueue
from aex_verification.repository import ATTEMPTS, CONTRACTS
from aex_verification.rules.bare_result import bare_result
from aex_verification.rules.records import AttemptRow, ContractRow


async def review_outcome(deps: Deps, review: OutcomeReviewed) -> None:
    """Apply the decision; ignored where the hold that it decides is no longer the current one."""

    async def apply(unit: Unit) -> None:
        stored = await unit.get(CONTRACTS, key_of(review.contract_id))
        attempt = await unit.get(ATTEMPTS, key_of(review.attempt_id))
        if stored is None or attempt is None or not _is_current(stored.record, review.attempt_id):
            return
        if review.decision is Decision.RETRY:
            _retry(deps, unit, stored, attempt, review)
        elif review.decision is Decision.RELEASE:
            await _release(unit, stored, attempt)
        else:
            await _reject(unit, stored, attempt)

    await deps.unit_of_work.run(apply)
    deps.waits.wake(review.attempt_id)
    deps.followers.wake(review.contract_id)


async def _release(unit: Unit, stored: Stored[ContractRow], attempt: Stored[AttemptRow]) -> None:
    """Keep the engine's verdict; an indeterminate one becomes a pass without bonus or penalty, and is counted."""
    word = GovernanceResult(action=Action.ALLOW, decided_by=DecidedBy.OPERATOR, flags=_flags(attempt.record))
    row, status = _with_result(attempt.record, unit), stored.record.state.closing or ContractStatus.PASSED
    if row.verdict is Verdict.INDETERMINATE:
        before = stored.record.state
        state = judged(before, Verdict.PASSED, 0.0, unit.now)
        counted = state.verification.attempts_used > before.verification.attempts_used  # not in an earlier attempt
        stored = Stored(stored.record.model_copy(update={"state": state}), stored.document)
        row = row.model_copy(update={"counted": counted, "judged_at": unit.now})
    materials = await read_materials(unit.transaction, row)
    await finish_contract(unit, stored, Stored(row, attempt.document), materials, status, word)


async def _reject(unit: Unit, stored: Stored[ContractRow], attempt: Stored[AttemptRow]) -> None:
    """Fraud: the contract fails, and its base is not owed."""
    word = GovernanceResult(action=Action.REJECT, decided_by=DecidedBy.OPERATOR, flags=_flags(attempt.record))
    row = Stored(_with_result(attempt.record, unit), attempt.document)
    materials = await read_materials(unit.transaction, attempt.record)
    await finish_contract(unit, stored, row, materials, ContractStatus.FAILED, word)


def _retry(
    deps: Deps, unit: Unit, stored: Stored[ContractRow], attempt: Stored[AttemptRow], review: OutcomeReviewed
) -> None:
    """The same candidate under a new attempt. Its id follows from the hold: a replayed decision makes no second."""
    attempt_id = f"att_{sha256_hex(review.hold_id.encode())[:32]}"
    row = attempt.record
    again = row.model_copy(
        update={
            "attempt_id": attempt_id,
            "status": AttemptStatus.QUEUED,
            "verdict": None,
            "counted": False,
            "feedback": None,
            "rejected": None,
            "result": None,
            "system_retries": 0,
            "operator_retries": row.operator_retries + 1,
            "last_error": None,
            "judged_at": None,
        }
    )
    state = retried(stored.record.state, attempt_id, row.candidate_hash, unit.now)
    save_contract(unit, stored, state)
    unit.update(ATTEMPTS, attempt, row.model_copy(update={"status": AttemptStatus.JUDGED}))
    unit.create(ATTEMPTS, key_of(attempt_id), again)
    enqueue(unit, deps, row.contract_id, attempt_id)


def _flags(attempt: AttemptRow) -> tuple[Flag, ...]:
    return attempt.result.governance.flags if attempt.result else ()


def _with_result(attempt: AttemptRow, unit: Unit) -> AttemptRow:
    """The attempt with a result; where the verifier never gave one, an indeterminate result without metrics."""
    if attempt.result is not None:
        return attempt
    return attempt.model_copy(update={"result": bare_result(attempt, unit.now)})


def _is_current(row: ContractRow, attempt_id: str) -> bool:
    return row.state.status is ContractStatus.HELD and row.state.current_attempt == attempt_id
