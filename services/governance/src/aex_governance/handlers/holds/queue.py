"""The operators' queue: what waits, the longest first, and what was decided, the latest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from aex_governance.deps import Deps
from aex_governance.repository.holds import HOLDS, HOLDS_OF_RULES
from aex_models.governance import Hold, HoldCause, HoldStatus
from aex_runtime.clock import epoch_micros
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Direction, Document, Query, Scalar

MOST_COUNTED = 200
"""A count stops there: it reads what it counts."""
MOST_RELATED = 10
Position = tuple[Scalar, str]


@dataclass(frozen=True, slots=True)
class HoldFilter:
    """Which holds: in one status, and of one cause, of one rule, or both."""

    status: HoldStatus = HoldStatus.WAITING
    cause: HoldCause | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class HoldSlice:
    """Some holds, and the position behind them; None at the end."""

    holds: tuple[Hold, ...]
    after: Position | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many wait. `more`: there are more than were counted."""

    count: int
    more: bool
    causes: tuple[tuple[HoldCause, int], ...]
    """Of those that were counted, the most frequent first."""
    since: datetime | None
    """How long the first has waited."""


@dataclass(frozen=True, slots=True)
class Related:
    """Other holds, the newest first, and whether there are more."""

    holds: tuple[Hold, ...] = ()
    more: bool = False


async def list_queue(deps: Deps, wanted: HoldFilter, after: Position | None, limit: int) -> HoldSlice:
    """A page of the queue, or of what was decided."""
    waits = wanted.status is HoldStatus.WAITING
    order = "held_at" if waits else "decided_at"
    direction: Direction = "asc" if waits else "desc"
    named = {"status": wanted.status, "cause": wanted.cause, "rule": wanted.rule}
    equal = {name: str(value) for name, value in named.items() if value is not None}
    if wanted.rule is None:
        found = await HOLDS.find(deps.store, equal, order, direction, after=after, limit=limit + 1)
        return _slice([each.record for each in found], [each.document for each in found], order, limit)
    entries = await HOLDS_OF_RULES.find(deps.store, equal, order, direction, after=after, limit=limit + 1)
    holds = await HOLDS.get_many(deps.store, [key_of(each.record.hold_id) for each in entries])
    return _slice(holds, [each.document for each in entries], order, limit)


async def count_waiting(deps: Deps, most: int = MOST_COUNTED) -> Waiting:
    """How many holds wait, up to `most`."""
    query = Query(HOLDS.collection, {"status": HoldStatus.WAITING.value}, "held_at", limit=most + 1)
    found = await deps.store.query(query)
    counted = found[:most]
    causes: dict[HoldCause, int] = {}
    for each in counted:
        cause = HoldCause(str(each.fields["cause"]))
        causes[cause] = causes.get(cause, 0) + 1
    first = HOLDS.decode(counted[0]).record.held_at if counted else None
    ranked = sorted(causes.items(), key=lambda each: (-each[1], each[0]))
    return Waiting(len(counted), len(found) > most, tuple(ranked), first)


async def how_many_wait(deps: Deps) -> float:
    """How many holds wait, `MOST_COUNTED` at most."""
    return (await count_waiting(deps)).count


async def oldest_waiting_s(deps: Deps) -> float:
    """How long the first of the queue has waited, in seconds; 0 where nothing waits."""
    found = await HOLDS.find(deps.store, {"status": HoldStatus.WAITING.value}, "held_at", limit=1)
    return max(0.0, (deps.clock.now() - found[0].record.held_at).total_seconds()) if found else 0.0


async def next_waiting(deps: Deps, hold: Hold) -> Hold | None:
    """What to look at after this hold: what has waited the longest since, else the longest of all but this."""
    equal = {"status": HoldStatus.WAITING.value}
    here = (epoch_micros(hold.held_at), key_of(hold.hold_id))
    found = await HOLDS.find(deps.store, equal, "held_at", after=here, limit=1)
    found += await HOLDS.find(deps.store, equal, "held_at", limit=2)
    return next((each.record for each in found if each.record.hold_id != hold.hold_id), None)


async def of_contract(deps: Deps, hold: Hold) -> Related:
    """Other holds of the same contract: an outcome that was verified again may be held again."""
    return await _related(deps, hold, "contract_id", hold.contract_id)


async def of_agent(deps: Deps, hold: Hold) -> Related:
    """Other holds of the same agent; none where the agent is not known."""
    return Related() if hold.agent_id is None else await _related(deps, hold, "agent_id", hold.agent_id)


async def _related(deps: Deps, hold: Hold, name: str, value: str) -> Related:
    found = await HOLDS.find(deps.store, {name: value}, "held_at", "desc", limit=MOST_RELATED + 2)
    others = [each.record for each in found if each.record.hold_id != hold.hold_id]
    return Related(tuple(others[:MOST_RELATED]), len(others) > MOST_RELATED)


def _slice(holds: Sequence[Hold | None], documents: Sequence[Document], order: str, limit: int) -> HoldSlice:
    last = documents[limit - 1] if len(documents) > limit else None
    after = (last.fields[order], last.key) if last else None
    return HoldSlice(tuple(each for each in holds[:limit] if each is not None), after)
