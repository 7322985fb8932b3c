"""Storage of a contract's state with its numbered events, and the names of its timers."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from aex_models.contract import ContractStatus
from aex_models.contract_events import ENDINGS, ContractEvent, ContractEventType
from aex_outcomes.lifecycle.state import ContractState
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit
from aex_verification.repository import CONTRACTS, EVENTS, event_key
from aex_verification.rules.records import ContractRow

DEADLINE = "deadline"
"""Timer of a contract's deadline; its subject is the contract."""
VERIFY = "verify"
"""Timer that verifies an attempt again; its subject is the attempt, its payload `contract_id`."""
CHECK = "check"
"""Timer that runs the trial of a work again; its subject is the work, its payload a `PendingCheck`."""
CONCLUDE = "conclude"
"""Timer that calls governance about a closing contract; its subject is the contract."""


@dataclass(frozen=True, slots=True)
class RejectionDetails:
    """Fields of the event `verification_rejected` that are not part of the contract's state."""

    attempt_id: str
    attempt_counted: bool
    code: str
    message: str | None


def save_contract_with_events(
    unit: Unit, stored: Stored[ContractRow], state: ContractState, rejection: RejectionDetails | None = None
) -> None:
    """Write the contract's state in the unit, with the numbered events that follow from the change.

    An event is written for a `rejection`, and for a contract that becomes held or final.
    """
    row = stored.record
    events = list(_events(unit, row, state, rejection))
    for event in events:
        unit.create(EVENTS, event_key(event.contract_id, event.seq), event)
    unit.update(CONTRACTS, stored, row.model_copy(update={"state": state, "events": row.events + len(events)}))


def _events(
    unit: Unit, row: ContractRow, state: ContractState, rejection: RejectionDetails | None
) -> Iterator[ContractEvent]:
    event = ContractEvent(
        contract_id=row.contract_id,
        seq=row.events + 1,
        type=ContractEventType.VERIFICATION_REJECTED,
        attempts_used=state.verification.attempts_used,
        max_attempts=state.verification.max_attempts,
        occurred_at=unit.now,
    )
    if rejection is not None:
        yield event.model_copy(update=asdict(rejection))
    ending = ContractEventType.HELD if state.status is ContractStatus.HELD else ENDINGS.get(state.status)
    if ending is not None and state.status is not row.state.status:
        seq = event.seq + (rejection is not None)
        attempt_id = _find_attempt(row.state, state)
        yield event.model_copy(update={"seq": seq, "type": ending, "attempt_id": attempt_id, "cause": state.cause})


def _find_attempt(before: ContractState, after: ContractState) -> str | None:
    """Return the attempt on which the contract ends or is held; None after an invalid output."""
    attempt_id = after.current_attempt or before.current_attempt
    invalid = after.last_invalid
    return None if invalid is not None and invalid.attempt_id == attempt_id else attempt_id
