"""Removing the generations of a projection that nobody reads any more."""

from typing import Any

import structlog

from aex_runtime.held_lease import HeldLease
from aex_runtime.store.port import Query, Transaction
from aex_runtime.store.table import Table
from aex_settlement.deps import Deps
from aex_settlement.repository.projections import GENERATIONS, STATES, TABLES, building_key, generation_read
from aex_settlement.rules.projected import Projection

_AT_ONCE = 400
"""Deleted in one transaction; the store takes 500 writes."""
_MOST = 100
"""Generations looked at in one go; there are two or three."""
_log = structlog.get_logger("aex_settlement.discard_generations")


async def discard_unread(deps: Deps, projection: Projection, held: HeldLease) -> int:
    """Remove all generations that were begun but are not the one that is read; how many documents that were.

    A generation is listed until all of it is gone, so that whoever comes after a crash goes on.
    Raises `LeaseLost`, `StoreUnavailable`.
    """
    removed = 0
    while True:
        query = Query(GENERATIONS.collection, {"projection": projection.value}, limit=_MOST)
        listed = [document.key for document in await deps.store.query(query)]  # its key says all: see `_begun`
        current = await generation_read(deps.store, projection)
        unread = [generation for generation in listed if generation != current]
        for generation in unread:
            removed += await _discard(deps, projection, generation, held)
        if len(listed) < _MOST or not unread:
            return removed


async def _discard(deps: Deps, projection: Projection, generation: str, held: HeldLease) -> int:
    removed = 0
    for table in TABLES[projection]:
        removed += await _emptied(deps, table, generation, held)

    async def forget(transaction: Transaction) -> None:
        await held.guard(transaction)
        transaction.delete(STATES.collection, building_key(projection, generation))
        transaction.delete(GENERATIONS.collection, generation)

    await deps.store.transact(forget)
    _log.info("generation_removed", projection=projection.value, generation=generation, documents=removed)
    return removed


async def _emptied(deps: Deps, table: Table[Any], generation: str, held: HeldLease) -> int:
    """Remove a generation's documents from one collection, a page at a time; how many they were."""
    after: tuple[None, str] | None = None
    removed = 0
    while True:
        query = Query(table.collection, {"generation": generation}, after=after, limit=_AT_ONCE)
        keys = [document.key for document in await deps.store.query(query)]
        if keys:
            await held.renewed()
            await _delete(deps, table, keys, held)
            removed += len(keys)
        if len(keys) < _AT_ONCE:
            return removed
        after = None, keys[-1]  # not from the beginning: Firestore would walk over what was just deleted


async def _delete(deps: Deps, table: Table[Any], keys: list[str], held: HeldLease) -> None:
    async def write(transaction: Transaction) -> None:
        await held.guard(transaction)
        for key in keys:
            transaction.delete(table.collection, key)

    await deps.store.transact(write)
