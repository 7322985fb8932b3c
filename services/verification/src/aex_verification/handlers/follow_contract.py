"""Waiting for progress of a contract: the stream of its events, and the result of one attempt."""

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
from aex_verification.handlers.read import end_if_due_and_load_visible_contract, find_outcome, load_attempt
from aex_verification.repository import CONTRACTS, EVENTS
from aex_verification.rules.outcomes import is_paid_or_successful
from aex_verification.rules.records import AttemptRow

MAX_DIGITS = 9
_PAGE = 50
GRADED = frozenset({AttemptStatus.JUDGED, AttemptStatus.INVALID})
_SETTLED = GRADED | {AttemptStatus.HELD}
"""Statuses that end a wait. A held attempt is included, because an operator takes longer than a caller waits."""
_log = structlog.get_logger(__name__)


async def find_stream_start_seq(
    deps: Deps, reader: Principal, contract_id: str, last_event_id: str | None
) -> int | None:
    """Return the `seq` after which a stream of the contract's events begins.

    None means that nothing will follow: the contract has ended and the reader has read its last event. Raises
    `NotFound` if the contract is not the reader's, and `InvalidRequest` for a malformed `last_event_id`.
    """
    row = await end_if_due_and_load_visible_contract(deps, reader, contract_id)
    after = _parse_event_id(last_event_id)
    return None if row.state.is_final and after >= row.events else min(after, row.events)


async def stream_contract_events(
    deps: Deps, reader: Principal, contract_id: str, after: int
) -> AsyncIterator[list[Any]]:
    """Yield batches of the contract's events after number `after`, until its last event.

    An empty batch is yielded after each heartbeat interval without events. The stream also ends if the store fails;
    the reader's next request then reports the failure.
    """
    heartbeat_s = deps.subscribers.bounds.heartbeat_s

    async def read() -> list[ContractEvent]:
        equal, bounds = {"contract_id": contract_id}, [Bound(">", after)]
        found = await EVENTS.find(deps.store, equal, "seq", bounds=bounds, limit=_PAGE)
        return [each.record for each in found]

    try:
        while True:
            events = await deps.subscribers.read_until_done(contract_id, heartbeat_s, read, bool)
            yield await _render(deps, reader, events)
            if events:
                after = events[-1].seq
            if any(each.type in FINAL_EVENTS for each in events):
                return
    except (StoreUnavailable, RecordOfNewerVersion, BlobUnavailable) as error:
        _log.warning("response_aborted", contract_id=contract_id, after=after, error=str(error))


async def _render(deps: Deps, reader: Principal, events: list[ContractEvent]) -> list[dict[str, Any]]:
    """Return the events with the fields that the reader may see.

    A consumer sees messages, and codes that verifiers define, only of outputs that it pays for.
    """
    is_secret = reader.role is Audience.CONSUMER and any(each.code is not None for each in events)
    is_visible = not is_secret or is_paid_or_successful(await find_outcome(deps, events[0].contract_id))
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


async def wait_until_graded_or_held(deps: Deps, contract_id: str, attempt_id: str, timeout_s: float) -> AttemptRow:
    """Wait up to `timeout_s` until the attempt is graded or held, and return it as it then is.

    If the attempt closes the contract, the wait also covers the contract's end, so that a following read finds it
    ended.
    """

    async def read() -> tuple[AttemptRow, bool]:
        row = await load_attempt(deps, contract_id, attempt_id)
        if row.status not in _SETTLED:
            return row, False
        stored = await CONTRACTS.get(deps.store, key_of(contract_id))
        return row, stored is None or not stored.record.state.is_closing

    row, _ = await deps.notifier.read_until_done(attempt_id, timeout_s, read, lambda value: value[1])
    return row
