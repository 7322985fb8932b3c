"""A contract's events as they come, for whoever may read the contract."""

from collections.abc import AsyncIterator
from typing import Any

import structlog

from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract_events import FINAL_EVENTS, ContractEvent
from aex_models.work import Problem
from aex_runtime.blobs.port import BlobUnavailable
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.auth import Principal
from aex_runtime.store.port import Bound, StoreUnavailable
from aex_runtime.store.table import RecordOfNewerVersion
from aex_verification.deps import Deps
from aex_verification.handlers.read import outcome_of, visible_contract
from aex_verification.repository import EVENTS
from aex_verification.rules.outcome import paid_for

MAX_DIGITS = 9
_AT_ONCE = 50
log = structlog.get_logger()


async def first_to_tell(deps: Deps, reader: Principal, contract_id: str, last_event_id: str | None) -> int | None:
    """The number of the event after which to begin; None where the contract is over and all of it was told.

    Raises `NotFound` for a contract that the reader may not know of, `InvalidRequest` for an id that is no event's.
    """
    row = await visible_contract(deps, reader, contract_id)
    after = _number(last_event_id)
    return None if row.state.final and after >= row.events else min(after, row.events)


async def follow_contract(deps: Deps, reader: Principal, contract_id: str, after: int) -> AsyncIterator[list[Any]]:
    """The events after this one, a few at a time, as the reader may see them; up to the one that ends the contract.

    After each heartbeat's time without events, an empty list. Where the store does not answer it ends early: whoever
    comes back learns why.
    """
    heartbeat_s = deps.followers.bounds.heartbeat_s

    async def look() -> list[ContractEvent]:
        equal, bounds = {"contract_id": contract_id}, [Bound(">", after)]
        found = await EVENTS.find(deps.store, equal, "seq", bounds=bounds, limit=_AT_ONCE)
        return [each.record for each in found]

    try:
        while True:
            events = await deps.followers.waits.until(contract_id, heartbeat_s, look, bool)
            yield await _shown(deps, reader, events)
            if events:
                after = events[-1].seq
            if any(each.type in FINAL_EVENTS for each in events):
                return
    except (StoreUnavailable, RecordOfNewerVersion, BlobUnavailable) as error:
        log.warning("stream_broken_off", contract_id=contract_id, after=after, error=str(error))


async def _shown(deps: Deps, reader: Principal, events: list[ContractEvent]) -> list[dict[str, Any]]:
    """Each event through the reader's allow-list: a consumer reads what is said of an output that it pays for."""
    secret = reader.role is Audience.CONSUMER and any(each.message is not None for each in events)
    told = not secret or paid_for(await outcome_of(deps, events[0].contract_id))
    return [project(each, reader.role, Disclosure(output=told)) for each in events]


def _number(last_event_id: str | None) -> int:
    if not last_event_id:  # an empty one is what some readers send before their first event
        return 0
    if last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= MAX_DIGITS:
        return int(last_event_id)
    problem = Problem(
        path="header/Last-Event-ID", code="invalid_event_id", message="The id of an event of this stream: a number"
    )
    raise InvalidRequest("invalid_last_event_id", "Last-Event-ID is not the id of an event", [problem])
