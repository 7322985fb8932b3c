"""Waits on a contract: its events as a stream, and the end of a posted attempt."""

from collections.abc import AsyncIterator
from typing import Any

import structlog

from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import AttemptStatus
from aex_models.contract_events import FINAL_EVENTS, ContractEvent
from aex_models.work import Problem
from aex_runtime.blobs.port import BlobUnavailable
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.auth import Principal
from aex_runtime.store.port import Bound, StoreUnavailable, key_of
from aex_runtime.store.table import RecordOfNewerVersion
from aex_verification.deps import Deps
from aex_verification.handlers.read import find_outcome, load_attempt, load_visible_contract
from aex_verification.repository import CONTRACTS, EVENTS
from aex_verification.rules.outcomes import is_paid_for
from aex_verification.rules.records import AttemptRow

MAX_DIGITS = 9
_PAGE = 50
GRADED = frozenset({AttemptStatus.JUDGED, AttemptStatus.INVALID})
_SETTLED = GRADED | {AttemptStatus.HELD}
"""Statuses that end a wait: an operator who decides a hold takes longer than any caller waits."""
_log = structlog.get_logger(__name__)


async def find_start(deps: Deps, reader: Principal, contract_id: str, last_event_id: str | None) -> int | None:
    """Return the `seq` after which to begin; None where the last event of an ended contract was read.

    Raises `NotFound` for a contract that is not the reader's, `InvalidRequest` for an id that is no event's.
    """
    row = await load_visible_contract(deps, reader, contract_id)
    after = _parse_event_id(last_event_id)
    return None if row.state.is_final and after >= row.events else min(after, row.events)


async def follow_contract(deps: Deps, reader: Principal, contract_id: str, after: int) -> AsyncIterator[list[Any]]:
    """Yield the events after `after` for the reader, a few at a time, up to the contract's end.

    After each heartbeat without events yields an empty list. Ends early where the store fails: the next request
    reports that.
    """
    heartbeat_s = deps.subscribers.bounds.heartbeat_s

    async def read() -> list[ContractEvent]:
        equal, bounds = {"contract_id": contract_id}, [Bound(">", after)]
        found = await EVENTS.find(deps.store, equal, "seq", bounds=bounds, limit=_PAGE)
        return [each.record for each in found]

    try:
        while True:
            events = await deps.subscribers.wait_for(contract_id, heartbeat_s, read, bool)
            yield await _render(deps, reader, events)
            if events:
                after = events[-1].seq
            if any(each.type in FINAL_EVENTS for each in events):
                return
    except (StoreUnavailable, RecordOfNewerVersion, BlobUnavailable) as error:
        _log.warning("response_aborted", contract_id=contract_id, after=after, error=str(error))


async def _render(deps: Deps, reader: Principal, events: list[ContractEvent]) -> list[dict[str, Any]]:
    """Render events for the reader: a consumer reads messages on outputs that it pays for."""
    is_secret = reader.role is Audience.CONSUMER and any(each.message is not None for each in events)
    is_visible = not is_secret or is_paid_for(await find_outcome(deps, events[0].contract_id))
    return [project(each, reader.role, Disclosure(output=is_visible)) for each in events]


def _parse_event_id(last_event_id: str | None) -> int:
    if not last_event_id:  # some readers send an empty one before their first event
        return 0
    if last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= MAX_DIGITS:
        return int(last_event_id)
    problem = Problem(
        path="header/Last-Event-ID", code="invalid_event_id", message="The id of an event of this stream: a number"
    )
    raise InvalidRequest("invalid_last_event_id", "Last-Event-ID is not the id of an event", [problem])


async def wait_for_attempt(deps: Deps, contract_id: str, attempt_id: str, seconds: float) -> AttemptRow:
    """Return the attempt once it is graded or held, or as it is when the time is over.

    A rejection that ends the contract is known before governance decides. The wait ends after the contract, so that
    the next read finds it ended.
    """

    async def read() -> tuple[AttemptRow, bool]:
        row = await load_attempt(deps, contract_id, attempt_id)
        if row.status not in _SETTLED:
            return row, False
        stored = await CONTRACTS.get(deps.store, key_of(contract_id))
        return row, stored is None or not stored.record.state.is_closing

    row, _ = await deps.notifier.wait_for(attempt_id, seconds, read, lambda value: value[1])
    return row
