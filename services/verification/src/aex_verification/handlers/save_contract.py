"""Contract states, written with their numbered events in one transaction; names of timers."""

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
"""Subject: the contract. Its time is over."""
VERIFY = "verify"
"""Subject: the attempt; payload: `contract_id`. Verify it: a retry, or a worker that was lost."""
CHECK = "check"
"""Subject: the work; payload: a `PendingCheck`. Run the trial that could not run yet."""
CONCLUDE = "conclude"
"""Subject: the contract. Call governance about the attempt that the outcome rests on."""


@dataclass(frozen=True, slots=True)
class RejectionDetails:
    """Details of a `verification_rejected` beside the state, under the event's names."""

    attempt_id: str
    attempt_counted: bool
    code: str
    message: str | None


def save_contract(
    unit: Unit, stored: Stored[ContractRow], state: ContractState, rejection: RejectionDetails | None = None
) -> None:
    """Write the state, and events where a candidate was rejected or the contract became held or final."""
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
    """Return the attempt that the contract ends on or is held for; None after an invalid output."""
    attempt_id = after.current_attempt or before.current_attempt
    invalid = after.last_invalid
    return None if invalid is not None and invalid.attempt_id == attempt_id else attempt_id
