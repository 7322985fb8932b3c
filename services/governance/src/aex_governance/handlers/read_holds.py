"""Reads of held outcomes: lists for the API, the operators' queue, and records related to one hold."""

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
"""Limit of a count of holds, because counting reads each of them."""
MAX_RELATED = 10
PROFILE_DOMAINS = 20
MAX_PROFILE_DOMAINS = 300
"""Limit of the domains read for the profile on a hold's page; an agent may have any number."""
_WAITING = {"status": HoldStatus.WAITING.value}


@dataclass(frozen=True, slots=True)
class HoldFilter:
    """Filter of the operators' queue: status, and optionally cause and rule."""

    status: HoldStatus = HoldStatus.WAITING
    cause: HoldCause | None = None
    rule: str | None = None

    def to_query_fields(self) -> dict[str, str]:
        """Return the filter's fields that are set, as text by name."""
        values = {"status": self.status, "cause": self.cause, "rule": self.rule}
        return {name: str(value) for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class WaitingCount:
    """Summary of the waiting holds. If `has_more` is true, there are more than were counted."""

    count: int
    has_more: bool
    causes: tuple[tuple[HoldCause, int], ...]
    """Number of the counted holds by cause, the most frequent first."""
    since: datetime | None
    """Time at which the longest waiting hold was opened; None if none waits."""


@dataclass(frozen=True, slots=True)
class RelatedHolds:
    """Other holds of the same contract or agent, the newest first. `has_more`: some are not listed."""

    holds: tuple[Hold, ...] = ()
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class HoldContext:
    """Records that an operator sees beside a hold."""

    record: ValidationRecord | None
    """Validation of the attempt; None if it was held without one."""
    contract: RelatedHolds
    """Other holds of the contract."""
    agent: RelatedHolds
    """Other holds of the agent."""
    profile: ProfilePage | None
    """Profile of the agent; None if the agent is unknown."""
    next_hold: Hold | None
    """Next waiting hold of the queue; None if no other hold waits."""


async def list_hold_queue(deps: Deps, hold_filter: HoldFilter, paging: PageRequest) -> ListPage[Hold]:
    """Return a page of holds for the operators' queue.

    Waiting holds are sorted by opening time, the oldest first. Decided holds are sorted by decision time, the latest
    first.
    """
    is_queue = hold_filter.status is HoldStatus.WAITING
    order = "held_at" if is_queue else "decided_at"
    direction: Direction = "asc" if is_queue else "desc"
    sets = (hold_filter.to_query_fields(),)

    async def render(_: PageReader, hold: Hold) -> Hold:
        return hold

    async def render_of_rule(pages: PageReader, entry: HoldOfRule) -> Hold | None:
        return await pages.count_and_load_record(HOLDS, key_of(entry.hold_id))

    if hold_filter.rule is None:
        return await read_page(deps.store, Listing(HOLDS, sets, order, direction), paging, render)
    found = await read_page(deps.store, Listing(HOLDS_OF_RULES, sets, order, direction), paging, render_of_rule)
    return ListPage(tuple(each for each in found.items if each is not None), found.after)


async def summarize_waiting_holds(deps: Deps, limit: int = MAX_COUNT) -> WaitingCount:
    """Return number, causes and longest wait of the waiting holds, over at most `limit` of them."""
    found = await deps.store.query_page(Query(HOLDS.collection, _WAITING, "held_at", limit=limit + 1))
    counted = found[:limit]
    causes = Counter(HoldCause(str(each.fields["cause"])) for each in counted)
    first = HOLDS.decode(counted[0]).record.held_at if counted else None
    ranked = sorted(causes.items(), key=lambda each: (-each[1], each[0]))
    return WaitingCount(len(counted), len(found) > limit, tuple(ranked), first)


async def count_waiting_holds_up_to_max(deps: Deps) -> float:
    """Return the number of waiting holds, at most `MAX_COUNT`."""
    return (await summarize_waiting_holds(deps)).count


async def read_longest_wait_s(deps: Deps) -> float:
    """Return how many seconds the longest waiting hold has waited; 0 if none waits."""
    found = await HOLDS.find(deps.store, _WAITING, "held_at", limit=1)
    return max(0.0, (deps.clock.now() - found[0].record.held_at).total_seconds()) if found else 0.0


async def find_next_waiting_hold(deps: Deps, hold: Hold) -> Hold | None:
    """Return the waiting hold after this one in the queue, else the queue's first.

    Returns None if no other hold waits.
    """
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
    """Return a page of holds as JSON, newest first.

    `status`, `contract_id` and `filters` that are None match any value. Raises `Unprocessable` for more than two
    filters.
    """
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


async def read_hold_context(deps: Deps, operator: Principal, hold: Hold) -> HoldContext:
    """Return the records that an operator sees beside a hold."""
    record, contract, agent, profile, next_hold = await asyncio.gather(
        VALIDATIONS.get(deps.store, key_of(hold.attempt_id)),
        _related_holds(deps, hold, "contract_id", hold.contract_id),
        _related_holds(deps, hold, "agent_id", hold.agent_id),
        _profile(deps, operator, hold),
        find_next_waiting_hold(deps, hold),
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
