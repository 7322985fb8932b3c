"""The projections added up anew: out of the log itself, record by record, and held against what is stored."""

from collections.abc import Iterable, Mapping
from typing import Any

from aex_governance.repository.log import OUTCOMES, VALIDATIONS
from aex_governance.repository.projections import TABLES, read_head
from aex_governance.rules.projection.increments import apply, increments
from aex_governance.rules.projection.records import LogRecord
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
    expected = recounted(await logged(store))
    assert await stored(store) == ({head.reading: expected} if expected else {})


async def check_read(store: Store) -> None:
    """The same of what is read alone: another generation may be in the making, or on its way out."""
    reading = (await read_head(store)).reading
    assert (await stored(store)).get(reading, {}) == recounted(await logged(store))


async def _all(store: Store, table: Table[Any]) -> list[Any]:
    documents = await store.query(Query(table.collection, limit=100_000))
    return [table.decode(each) for each in documents]
