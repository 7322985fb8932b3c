"""Governance has not decided: an outcome is never final without its word, and waits for it."""

from datetime import timedelta

from aex_models.contract import AttemptStatus
from aex_models.governance import Action, DecidedBy, GovernanceResult, HoldCause
from aex_runtime.store.keys import key_of
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.hold_contract import closes_on, hold_contract
from aex_verification.handlers.timers import CONCLUDE
from aex_verification.repository import ATTEMPTS, CONTRACTS
from aex_verification.rules.policy import SYSTEM_BACKOFF, governance_wait
from aex_verification.rules.records import AttemptRow, ContractRow

_NO_WORD = GovernanceResult(action=Action.HOLD, decided_by=DecidedBy.NOBODY)


async def wait_for_governance(deps: Deps, contract_id: str, attempt_id: str) -> None:
    """It cannot be asked: try again on a timer, without limit."""

    async def wait(unit: Unit) -> None:
        found = await _closing(unit, contract_id, attempt_id)
        if found is not None:
            stored, attempt = found
            delay = governance_wait(unit.now - stored.record.state.updated_at, deps.ids.jitter())
            _wait(unit, attempt, attempt.record.system_retries, delay)

    await deps.unit_of_work.run(wait)


async def ask_again_or_hold(deps: Deps, contract_id: str, attempt_id: str) -> None:
    """It does not take the question, or breaks on it: after `max_system_retries` more tries an operator decides."""

    async def count(unit: Unit) -> None:
        found = await _closing(unit, contract_id, attempt_id)
        if found is None:
            return
        stored, attempt = found
        tries = attempt.record.system_retries + 1
        if tries > deps.policy.max_system_retries:
            hold_contract(unit, stored, attempt, _NO_WORD, HoldCause.SYSTEM_RETRIES_EXHAUSTED)
        else:
            _wait(unit, attempt, tries, SYSTEM_BACKOFF.delay(tries, deps.ids.jitter()))

    await deps.unit_of_work.run(count)


async def _closing(
    unit: Unit, contract_id: str, attempt_id: str
) -> tuple[Stored[ContractRow], Stored[AttemptRow]] | None:
    stored = await unit.get(CONTRACTS, key_of(contract_id))
    attempt = await unit.get(ATTEMPTS, key_of(attempt_id))
    if stored is None or attempt is None or not closes_on(stored.record, attempt_id):
        return None
    return stored, attempt


def _wait(unit: Unit, attempt: Stored[AttemptRow], tries: int, delay: timedelta) -> None:
    row = attempt.record
    status = row.status if row.status is AttemptStatus.JUDGED else AttemptStatus.WAITING  # what was told stays told
    unit.update(ATTEMPTS, attempt, row.model_copy(update={"status": status, "system_retries": tries}))
    unit.set_timer(CONCLUDE, row.contract_id, unit.now + delay)
