"""Sealed batches as the documents of a projection: as many batches at once as one transaction of the store takes."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from aex_runtime.store.port import Collection, Document, Fields, Store
from aex_runtime.store.table import Table
from aex_settlement.handlers.journal.turns import in_turns
from aex_settlement.repository.projections import (
    BALANCES,
    DAYS,
    ROLLUPS,
    SHEETS,
    balance_key,
    day_key,
    group_key,
    sheet_key,
)
from aex_settlement.repository.readable import readable
from aex_settlement.rules.account_books import Books, DayPlace, Page, Place, day_places_of, places_of
from aex_settlement.rules.batching import MAX_SHEETS_BYTES, MAX_WRITES, OF_THE_STATE, line_bytes
from aex_settlement.rules.projected import DaySums, Projection
from aex_settlement.rules.rollups import Group, add_changes, changed, rollup_changes

M = TypeVar("M", bound=BaseModel)
_ROLLUPS_AT_ONCE = 10
"""Each holds up to a month of days."""


class Written(NamedTuple):
    """One document to write."""

    collection: Collection
    key: str
    body: bytes
    fields: Fields


class Draft(Protocol):
    """Batches that are applied together."""

    def take(self, page: Page) -> bool:
        """Put the next one in; False where it does not fit any more. The first fits: see `rules.batching`."""
        ...

    async def documents(self, store: Store, generation: str) -> list[Written]:
        """What is to be written, on top of what the generation holds now. Called inside of the transaction."""
        ...


class RollupsDraft:
    """What batches add to the rollups."""

    def __init__(self) -> None:
        self._changes: dict[Group, dict[str, DaySums]] = {}

    def take(self, page: Page) -> bool:
        changes = rollup_changes(page.transactions)
        groups = len(self._changes) + sum(group not in self._changes for group in changes)
        if self._changes and groups + OF_THE_STATE > MAX_WRITES:
            return False
        add_changes(self._changes, changes)
        return True

    async def documents(self, store: Store, generation: str) -> list[Written]:
        groups = list(self._changes)
        keys = [group_key(generation, each) for each in groups]
        seen = await _found(ROLLUPS, store, keys)

        def add(each: tuple[Group, str]) -> Written:
            group, key = each
            return _written(ROLLUPS, key, changed(generation, group, seen.get(key), self._changes[group]))

        return await in_turns(add, zip(groups, keys, strict=True), _ROLLUPS_AT_ONCE)


class AccountsDraft:
    """What batches post to the accounts' books."""

    def __init__(self) -> None:
        self._pages: list[Page] = []
        self._places: set[Place] = set()
        self._days: set[DayPlace] = set()
        self._sheets = 0
        self._bytes = 0

    def take(self, page: Page) -> bool:
        posted = places_of(page.transactions)
        places, days = self._places | posted, self._days | day_places_of(page)
        sheets = self._sheets + len(posted)
        size = self._bytes + sum(line_bytes(each) * len(each.postings) for each in page.transactions)
        writes = len(places) + len(days) + sheets + OF_THE_STATE
        if self._pages and (writes > MAX_WRITES or size > MAX_SHEETS_BYTES):
            return False
        self._pages.append(page)
        self._places, self._days, self._sheets, self._bytes = places, days, sheets, size
        return True

    async def documents(self, store: Store, generation: str) -> list[Written]:
        balance_keys = {place: balance_key(generation, place) for place in self._places}
        day_keys = {place: day_key(generation, place) for place in self._days}
        balances = await _found(BALANCES, store, list(balance_keys.values()))
        days = await _found(DAYS, store, list(day_keys.values()))
        books = Books(
            generation,
            {place: balances[key] for place, key in balance_keys.items() if key in balances},
            {place: days[key] for place, key in day_keys.items() if key in days},
        )
        await in_turns(books.post, self._pages, at_once=1)
        return [
            *await in_turns(lambda each: _written(BALANCES, balance_keys[each[0]], each[1]), books.balances.items()),
            *await in_turns(lambda each: _written(DAYS, day_keys[each[0]], each[1]), books.days.items()),
            *await in_turns(lambda sheet: _written(SHEETS, sheet_key(sheet), sheet), books.sheets),
        ]


DRAFTS: Mapping[Projection, Callable[[], Draft]] = {
    Projection.ROLLUPS: RollupsDraft,
    Projection.ACCOUNTS: AccountsDraft,
}


async def _found(table: Table[M], store: Store, keys: Sequence[str]) -> dict[str, M]:
    """The records that are there, by key."""
    documents = [each for each in await store.get_many(table.collection, keys) if each is not None] if keys else []

    def decode(document: Document) -> M:
        with readable(table.collection.name, document.key):
            return table.decode(document).record

    records = await in_turns(decode, documents, _ROLLUPS_AT_ONCE)
    return {document.key: record for document, record in zip(documents, records, strict=True)}


def _written(table: Table[M], key: str, record: M) -> Written:
    return Written(table.collection, key, *table.encode(record))
