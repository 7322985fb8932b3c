"""Whoever posted a candidate waits a while for what comes of it."""

from aex_models.contract import AttemptStatus
from aex_runtime.store.keys import key_of
from aex_verification.deps import Deps
from aex_verification.handlers.read import attempt_row
from aex_verification.repository import CONTRACTS
from aex_verification.rules.records import AttemptRow

TOLD = frozenset({AttemptStatus.JUDGED, AttemptStatus.INVALID})
_AT_REST = TOLD | {AttemptStatus.HELD}
"""What ends a wait: an operator who decides a hold takes longer than any caller waits."""


async def awaited_attempt(deps: Deps, contract_id: str, attempt_id: str, seconds: float) -> AttemptRow:
    """The attempt once it is at rest, or as it is when the time is over.

    A rejection that ends the contract is known before governance has spoken: it is told once the contract has ended,
    so that whoever reads the contract next finds it so.
    """

    async def look() -> tuple[AttemptRow, bool]:
        row = await attempt_row(deps, contract_id, attempt_id)
        return row, row.status in _AT_REST and not await _closes(deps, contract_id)

    row, _ = await deps.waits.until(attempt_id, seconds, look, lambda seen: seen[1])
    return row


async def _closes(deps: Deps, contract_id: str) -> bool:
    stored = await CONTRACTS.get(deps.store, key_of(contract_id))
    return stored is not None and stored.record.state.closes
