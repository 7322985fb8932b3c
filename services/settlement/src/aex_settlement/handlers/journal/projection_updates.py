"""Documents of a projection that change when sealed batches are applied in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from pydantic import BaseModel

from aex_runtime.store.port import Collection, Document, Fields, Store
from aex_runtime.store.table import Table
from aex_runtime.yielding import map_yielding
from aex_settlement.repository.journal import as_unreadable_record
from aex_settlement.repository.projections import (
    ACCOUNT_PAGES,
    BALANCES,
    DAYS,
    ROLLUPS,
    account_page_key,
    projected_key,
)
from aex_settlement.rules.account_books import (
    AccountKey,
    AccountUpdates,
    DayKey,
    SealedBatch,
    collect_account_keys,
    collect_sealing_day_keys,
)
from aex_settlement.rules.batching import MAX_ENTRIES_BYTES, MAX_WRITES, STATE_WRITES, max_entry_bytes
from aex_settlement.rules.projections import DaySums, Projection
from aex_settlement.rules.rollups import Group, add_changes, build_updated_rollup, compute_rollup_changes

M = TypeVar("M", bound=BaseModel)
_YIELD_AFTER_ROLLUPS = 10
"""Rollups processed before other tasks may run; each holds up to a month of days."""


DocumentWrite = tuple[Collection, str, bytes, Fields]
"""Document to write: collection, key, body and index fields."""


class ProjectionDraft(Protocol):
    """Batches to apply to a projection in one transaction, collected as long as they fit."""

    def try_add(self, batch: SealedBatch) -> bool:
        """Add the next batch; return False, and do not add it, if it no longer fits. The first always fits."""
        ...

    async def build_documents(self, store: Store, generation: str) -> list[DocumentWrite]:
        """Return the documents to write: those stored in the generation, updated by the batches."""
        ...


class RollupsDraft:
    """Batches to apply to the projection `rollups` in one transaction."""

    def __init__(self) -> None:
        self._changes: dict[Group, dict[str, DaySums]] = {}

    def try_add(self, batch: SealedBatch) -> bool:
        """Add the next batch; return False, and do not add it, if it no longer fits."""
        changes = compute_rollup_changes(batch.transactions)
        groups = len(self._changes) + sum(group not in self._changes for group in changes)
        if self._changes and groups + STATE_WRITES > MAX_WRITES:
            return False
        add_changes(self._changes, changes)
        return True

    async def build_documents(self, store: Store, generation: str) -> list[DocumentWrite]:
        keys = {projected_key(generation, *group): group for group in self._changes}
        rollups = await _read_records(ROLLUPS, store, list(keys))

        def update(item: tuple[str, Group]) -> DocumentWrite:
            key, group = item
            return _write(ROLLUPS, key, build_updated_rollup(generation, group, rollups.get(key), self._changes[group]))

        return await map_yielding(update, keys.items(), _YIELD_AFTER_ROLLUPS)


class AccountsDraft:
    """Batches to apply to the projection `accounts` in one transaction."""

    def __init__(self) -> None:
        self._batches: list[SealedBatch] = []
        self._accounts: set[AccountKey] = set()
        self._days: set[DayKey] = set()
        self._pages = 0
        self._bytes = 0

    def try_add(self, batch: SealedBatch) -> bool:
        """Add the next batch; return False, and do not add it, if it no longer fits."""
        posted = collect_account_keys(batch.transactions)
        accounts, days = self._accounts | posted, self._days | collect_sealing_day_keys(batch)
        pages = self._pages + len(posted)
        size = self._bytes + sum(max_entry_bytes(each) * len(each.postings) for each in batch.transactions)
        writes = len(accounts) + len(days) + pages + STATE_WRITES
        if self._batches and (writes > MAX_WRITES or size > MAX_ENTRIES_BYTES):
            return False
        self._batches.append(batch)
        self._accounts, self._days, self._pages, self._bytes = accounts, days, pages, size
        return True

    async def build_documents(self, store: Store, generation: str) -> list[DocumentWrite]:
        keys = {each: projected_key(generation, *each) for each in (*self._accounts, *self._days)}
        balances = await _read_records(BALANCES, store, [keys[each] for each in self._accounts])
        days = await _read_records(DAYS, store, [keys[each] for each in self._days])
        updates = AccountUpdates(
            generation,
            {account: balances[keys[account]] for account in self._accounts if keys[account] in balances},
            {day: days[keys[day]] for day in self._days if keys[day] in days},
        )
        await map_yielding(updates.post_batch, self._batches, yield_after=1)
        return [
            *await map_yielding(lambda item: _write(BALANCES, keys[item[0]], item[1]), updates.balances.items()),
            *await map_yielding(lambda item: _write(DAYS, keys[item[0]], item[1]), updates.days.items()),
            *await map_yielding(lambda page: _write(ACCOUNT_PAGES, account_page_key(page), page), updates.pages),
        ]


DRAFTS: Mapping[Projection, Callable[[], ProjectionDraft]] = {
    Projection.ROLLUPS: RollupsDraft,
    Projection.ACCOUNTS: AccountsDraft,
}


async def _read_records(table: Table[M], store: Store, keys: Sequence[str]) -> dict[str, M]:
    documents = [each for each in await store.get_many(table.collection, keys) if each is not None] if keys else []

    def decode(document: Document) -> M:
        with as_unreadable_record(table.collection.name, document.key):
            return table.decode(document).record

    records = await map_yielding(decode, documents, _YIELD_AFTER_ROLLUPS)
    return {document.key: record for document, record in zip(documents, records, strict=True)}


def _write(table: Table[M], key: str, record: M) -> DocumentWrite:
    return (table.collection, key, *table.encode(record))
