"""A contract's new state, and the numbered events that tell its parties of it, in one transaction."""

from collections.abc import Iterator
from dataclasses import dataclass

from aex_models.contract import ContractStatus
from aex_models.contract_events import ENDINGS, ContractEvent, ContractEventType
from aex_outcomes.lifecycle.state import ContractState
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.repository import CONTRACTS, EVENTS, event_key
from aex_verification.rules.records import ContractRow


@dataclass(frozen=True, slots=True)
class Rejecting:
    """What a `verification_rejected` tells beside the state."""

    attempt_id: str
    counted: bool
    code: str
    message: str | None


def save_contract(
    unit: Unit, stored: Stored[ContractRow], state: ContractState, rejecting: Rejecting | None = None
) -> None:
    """Write the state and, where a candidate was rejected or the contract became held or final, the events of that."""
    row = stored.record
    events = list(_events(unit, row, state, rejecting))
    for event in events:
        unit.create(EVENTS, event_key(event.contract_id, event.seq), event)
    unit.update(CONTRACTS, stored, row.model_copy(update={"state": state, "events": row.events + len(events)}))


def _events(unit: Unit, row: ContractRow, state: ContractState, rejecting: Rejecting | None) -> Iterator[ContractEvent]:
    told = ContractEvent(
        contract_id=row.contract_id,
        seq=row.events + 1,
        type=ContractEventType.VERIFICATION_REJECTED,
        attempts_used=state.verification.attempts_used,
        max_attempts=state.verification.max_attempts,
        occurred_at=unit.now,
    )
    if rejecting is not None:
        yield told.model_copy(
            update={
                "attempt_id": rejecting.attempt_id,
                "attempt_counted": rejecting.counted,
                "code": rejecting.code,
                "message": rejecting.message,
            }
        )
    ending = _reached(row.state.status, state.status)
    if ending is not None:
        seq = told.seq + (rejecting is not None)
        about = _about(row.state, state)
        yield told.model_copy(update={"seq": seq, "type": ending, "attempt_id": about})


def _about(before: ContractState, after: ContractState) -> str | None:
    """The attempt that the contract ends on, or is held for: none where the last thing seen was an invalid output."""
    attempt_id = after.current_attempt or before.current_attempt
    invalid = after.last_invalid
    return None if invalid is not None and invalid.attempt_id == attempt_id else attempt_id


def _reached(before: ContractStatus, after: ContractStatus) -> ContractEventType | None:
    if after is before:
        return None
    return ContractEventType.HELD if after is ContractStatus.HELD else ENDINGS.get(after)
