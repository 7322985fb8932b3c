from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from aex_governance.repository import OUTCOMES, TABLES, VALIDATIONS, read_projection_generations
from aex_governance.rules.projection_documents import LogRecord, OutcomeEntry, ProfileShard
from aex_governance.rules.projection_increments import apply_increment, compute_increments
from aex_runtime.store.port import Query, Store
from aex_runtime.store.table import Table

Projections = Mapping[tuple[str, str], Any]
"""By collection and place: the document."""


def recounted(records: Iterable[LogRecord]) -> Projections:
    found: dict[tuple[str, str], Any] = {}
    for record in records:
        for each in compute_increments(record):
            position = (TABLES[each.kind].collection.name, each.key)
            found[position] = apply_increment(found.get(position), each)
    return found


async def logged(store: Store) -> list[LogRecord]:
    tables: tuple[Table[Any], ...] = (VALIDATIONS, OUTCOMES)
    return [stored.record for table in tables for stored in await _all(store, table)]


async def stored(store: Store) -> Mapping[int, Projections]:
    found: dict[int, dict[tuple[str, str], Any]] = {}
    for table in TABLES.values():
        for each in await _all(store, table):
            generation, _, position = each.document.key.partition("-")
            found.setdefault(int(generation), {})[table.collection.name, position] = each.record
    return found


async def check_complete(store: Store) -> None:
    generations = await read_projection_generations(store)
    assert generations.building is None
    records, documents = await logged(store), await stored(store)
    expected = recounted(records)
    assert documents == ({generations.reading: expected} if expected else {})
    _check_by_hand(records, documents.get(generations.reading, {}))


async def check_read(store: Store) -> None:
    """Check the generation that is read; another one may exist."""
    reading = (await read_projection_generations(store)).reading
    records, documents = await logged(store), (await stored(store)).get(reading, {})
    assert documents == recounted(records), "governance's projections are not what the log comes to"
    _check_by_hand(records, documents)


def _check_by_hand(records: Iterable[LogRecord], documents: Projections) -> None:
    """Compare outcomes, successes and decisions of each agent, counted without the code of the product."""
    expected: Counter[tuple[str, str]] = Counter()
    for record in records:
        if isinstance(record, OutcomeEntry):
            expected[record.agent_id, "outcomes"] += 1
            expected[record.agent_id, "successes"] += record.success
        else:
            expected[record.request.agent.id, record.decision.action.value] += 1
    counted: Counter[tuple[str, str]] = Counter()
    for shard in documents.values():
        if isinstance(shard, ProfileShard):
            figures = {"outcomes": shard.tally.outcomes, "successes": shard.tally.successes, **shard.tally.decisions}
            counted.update({(shard.agent_id, name): figure for name, figure in figures.items()})
    assert counted == expected


async def _all(store: Store, table: Table[Any]) -> list[Any]:
    documents = await store.query_page(Query(table.collection, limit=100_000))
    return [table.decode(each) for each in documents]
