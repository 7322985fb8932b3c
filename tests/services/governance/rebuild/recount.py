"""The projections added up anew: out of the log itself, record by record, and held against what is stored."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from aex_governance.repository.log import OUTCOMES, VALIDATIONS
from aex_governance.repository.projections import TABLES, read_head
from aex_governance.rules.projection.documents import ProfileShard
from aex_governance.rules.projection.increments import apply, increments
from aex_governance.rules.projection.records import LogRecord, OutcomeEntry
from aex_runtime.store.port import Query, Store
from aex_runtime.store.table import Table

Projections = Mapping[tuple[str, str], Any]
"""By collection and place: the document."""


def recounted(records: Iterable[LogRecord]) -> Projections:
    """What the records come to, in this order."""
    found: dict[tuple[str, str], Any] = {}
    for record in records:
        for each in increments(record):
            place = (TABLES[each.kind].collection.name, each.place)
            found[place] = apply(found.get(place), each)
    return found


async def logged(store: Store) -> list[LogRecord]:
    """All records of both logs."""
    tables: tuple[Table[Any], ...] = (VALIDATIONS, OUTCOMES)
    return [stored.record for table in tables for stored in await _all(store, table)]


async def stored(store: Store) -> Mapping[int, Projections]:
    """All projected documents that there are, by generation."""
    found: dict[int, dict[tuple[str, str], Any]] = {}
    for table in TABLES.values():
        for each in await _all(store, table):
            generation, _, place = each.document.key.partition("-")
            found.setdefault(int(generation), {})[table.collection.name, place] = each.record
    return found


async def check_whole(store: Store) -> None:
    """Raise `AssertionError` where what is read is not what the log comes to, or anything is there beside it."""
    head = await read_head(store)
    assert head.building is None
    records, documents = await logged(store), await stored(store)
    expected = recounted(records)
    assert documents == ({head.reading: expected} if expected else {})
    _check_by_hand(records, documents.get(head.reading, {}))


async def check_read(store: Store) -> None:
    """The same of what is read alone: another generation may be in the making, or on its way out."""
    reading = (await read_head(store)).reading
    records, documents = await logged(store), (await stored(store)).get(reading, {})
    assert documents == recounted(records), "what is read is not what the log comes to"
    _check_by_hand(records, documents)


def _check_by_hand(records: Iterable[LogRecord], documents: Projections) -> None:
    """Outcomes, successes and decisions of each agent, counted with nothing that the product counts with."""
    wanted: Counter[tuple[str, str]] = Counter()
    for record in records:
        if isinstance(record, OutcomeEntry):
            wanted[record.agent_id, "outcomes"] += 1
            wanted[record.agent_id, "successes"] += record.success
        else:
            wanted[record.request.agent.id, record.decision.action.value] += 1
    told: Counter[tuple[str, str]] = Counter()
    for shard in documents.values():
        if isinstance(shard, ProfileShard):
            tally = shard.tally
            told.update({(shard.agent_id, "outcomes"): tally.outcomes, (shard.agent_id, "successes"): tally.successes})
            told.update({(shard.agent_id, action): number for action, number in tally.decisions.items()})
    assert told == wanted, "a profile is not what its agent's records come to"


async def _all(store: Store, table: Table[Any]) -> list[Any]:
    documents = await store.query(Query(table.collection, limit=100_000))
    return [table.decode(each) for each in documents]
