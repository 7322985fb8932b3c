"""Reading of holds: the operators' queue, lists, and the context of one hold."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aex_governance.deps import Deps
from aex_governance.handlers.read_profile import ProfilePage, read_profile
from aex_governance.repository import HOLDS, HOLDS_OF_RULES, VALIDATIONS, HoldOfRule
from aex_governance.rules.projection_documents import ValidationRecord
from aex_models.audiences import project
from aex_models.governance import Hold, HoldCause, HoldStatus
from aex_runtime.clock import epoch_micros
from aex_runtime.errors import NotFound
from aex_runtime.http.auth import Principal
from aex_runtime.http.large_pages import PageReader
from aex_runtime.http.listing import Listing, ListPage, read_page, read_page_as_json
from aex_runtime.http.pagination import PageRequest, collect_filters
from aex_runtime.store.port import Direction, Query, key_of

MAX_COUNT = 200
"""Limit of a count, which reads what it counts."""
MAX_RELATED = 10
PROFILE_DOMAINS = 20
MAX_PROFILE_DOMAINS = 300
"""Limit of the domains read for a page; an agent may have any number."""
_WAITING = {"status": HoldStatus.WAITING.value}


@dataclass(frozen=True, slots=True)
class HoldFilter:
    """Filter by status, and optionally by cause and rule."""

    status: HoldStatus = HoldStatus.WAITING
    cause: HoldCause | None = None
    rule: str | None = None

    def fields(self) -> dict[str, str]:
        """Return the fields of the filter with their values."""
        values = {"status": self.status, "cause": self.cause, "rule": self.rule}
        return {name: str(value) for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class WaitingCount:
    """Number of waiting holds, up to a limit; `has_more` if the limit is exceeded."""

    count: int
    has_more: bool
    causes: tuple[tuple[HoldCause, int], ...]
    """The most frequent first."""
    since: datetime | None
    """Start of the longest wait."""


@dataclass(frozen=True, slots=True)
class RelatedHolds:
    """Other holds of a contract or agent, the newest first."""

    holds: tuple[Hold, ...] = ()
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class HoldContext:
    """Records beside a hold. `record` is None for an attempt without a validation."""

    record: ValidationRecord | None
    contract: RelatedHolds
    agent: RelatedHolds
    profile: ProfilePage | None
    """Profile; None for an unknown agent."""
    next_hold: Hold | None
    """Next hold of the queue; None if no other waits."""


async def list_queue(deps: Deps, hold_filter: HoldFilter, paging: PageRequest) -> ListPage[Hold]:
    """Return a page of waiting holds, the longest first, or of decided holds, the latest first."""
    is_queue = hold_filter.status is HoldStatus.WAITING
    order = "held_at" if is_queue else "decided_at"
    direction: Direction = "asc" if is_queue else "desc"
    sets = (hold_filter.fields(),)

    async def render(_: PageReader, hold: Hold) -> Hold:
        return hold

    async def render_of_rule(pages: PageReader, entry: HoldOfRule) -> Hold | None:
        return await pages.find_record(HOLDS, key_of(entry.hold_id))

    if hold_filter.rule is None:
        return await read_page(deps.store, Listing(HOLDS, sets, order, direction), paging, render)
    found = await read_page(deps.store, Listing(HOLDS_OF_RULES, sets, order, direction), paging, render_of_rule)
    return ListPage(tuple(each for each in found.items if each is not None), found.after)


async def count_waiting(deps: Deps, limit: int = MAX_COUNT) -> WaitingCount:
    """Count the waiting holds, up to the limit."""
    found = await deps.store.query(Query(HOLDS.collection, _WAITING, "held_at", limit=limit + 1))
    counted = found[:limit]
    causes = Counter(HoldCause(str(each.fields["cause"])) for each in counted)
    first = HOLDS.decode(counted[0]).record.held_at if counted else None
    ranked = sorted(causes.items(), key=lambda each: (-each[1], each[0]))
    return WaitingCount(len(counted), len(found) > limit, tuple(ranked), first)


async def count_waiting_holds(deps: Deps) -> float:
    """Return the number of waiting holds, at most `MAX_COUNT`."""
    return (await count_waiting(deps)).count


async def oldest_wait_s(deps: Deps) -> float:
    """Return the longest wait of a hold in seconds; 0 if none waits."""
    found = await HOLDS.find(deps.store, _WAITING, "held_at", limit=1)
    return max(0.0, (deps.clock.now() - found[0].record.held_at).total_seconds()) if found else 0.0


async def next_waiting_hold(deps: Deps, hold: Hold) -> Hold | None:
    """Return the first hold after this one in the queue, else the first of the queue."""
    position = (epoch_micros(hold.held_at), key_of(hold.hold_id))
    found = await HOLDS.find(deps.store, _WAITING, "held_at", after=position, limit=1)
    found += await HOLDS.find(deps.store, _WAITING, "held_at", limit=2)
    return next((each.record for each in found if each.record.hold_id != hold.hold_id), None)


async def list_holds(
    deps: Deps,
    reader: Principal,
    paging: PageRequest,
    status: HoldStatus | None,
    contract_id: str | None,
    filters: Mapping[str, str | None],
) -> bytes:
    """Return a page of holds as JSON, newest first. Raises `Unprocessable` for too many of `FILTERS`."""
    requested = collect_filters(filters)
    fields = {"status": status.value if status else None, "contract_id": contract_id}
    given = {name: value for name, value in fields.items() if value is not None}
    sets: list[dict[str, str | None]] = [{**given, **({} if contract_id else requested)}]
    if "consumer_id" in sets[0]:  # older holds lack this field, and are compared with their record
        sets.append({**sets[0], "consumer_id": None})

    def matches(hold: Hold) -> bool:
        return all(getattr(hold, name) == value for name, value in requested.items())

    async def render(pages: PageReader, hold: Hold) -> dict[str, Any]:
        return await pages.run_in_thread_if_large(lambda: project(hold, reader.role))

    return await read_page_as_json(deps.store, Listing(HOLDS, sets, "held_at", matches=matches), paging, render)


async def get_hold(deps: Deps, hold_id: str) -> Hold:
    """Return one hold. Raises `NotFound`."""
    stored = await HOLDS.get(deps.store, key_of(hold_id))
    if stored is None:
        raise NotFound("hold_not_found", "No such hold")
    return stored.record


async def read_context(deps: Deps, operator: Principal, hold: Hold) -> HoldContext:
    """Return the context of a hold, read concurrently."""
    record, contract, agent, profile, next_hold = await asyncio.gather(
        VALIDATIONS.get(deps.store, key_of(hold.attempt_id)),
        _related_holds(deps, hold, "contract_id", hold.contract_id),
        _related_holds(deps, hold, "agent_id", hold.agent_id),
        _profile(deps, operator, hold),
        next_waiting_hold(deps, hold),
    )
    return HoldContext(record.record if record else None, contract, agent, profile, next_hold)


async def _related_holds(deps: Deps, hold: Hold, field: str, value: str | None) -> RelatedHolds:
    if value is None:
        return RelatedHolds()
    found = await HOLDS.find(deps.store, {field: value}, "held_at", "desc", limit=MAX_RELATED + 2)
    others = [each.record for each in found if each.record.hold_id != hold.hold_id]
    return RelatedHolds(tuple(others[:MAX_RELATED]), len(others) > MAX_RELATED)


async def _profile(deps: Deps, operator: Principal, hold: Hold) -> ProfilePage | None:
    if hold.agent_id is None:
        return None
    return await read_profile(deps, operator, hold.agent_id, None, PROFILE_DOMAINS, MAX_PROFILE_DOMAINS)
