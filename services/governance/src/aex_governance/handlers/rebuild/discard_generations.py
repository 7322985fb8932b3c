"""Removing the documents of generations that nobody reads any more."""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import structlog

from aex_governance.handlers.rebuild.rebuilder import Rebuild
from aex_governance.repository.generations import left_over
from aex_governance.repository.projections import TABLES, read_head
from aex_runtime.store.port import Transaction
from aex_runtime.store.table import Table

_log = structlog.get_logger("aex_governance.discard_generations")


async def discard_unread(rebuild: Rebuild) -> int:
    """Remove all that is neither read nor being made, also what a rebuild that was killed had not; how many it was.

    Raises `LeaseLost`, `StoreUnavailable`.
    """
    head = await read_head(rebuild.by.store)
    removed = 0
    for table in TABLES.values():
        async with aclosing(left_over(rebuild.by.store, table, head.generations)) as pages:
            async for keys in pages:
                await _delete(rebuild, table, keys)
                removed += len(keys)
    if removed:
        _log.info("generations_removed", kept=head.generations, documents=removed)
    return removed


async def _delete(rebuild: Rebuild, table: Table[Any], keys: Sequence[str]) -> None:
    await rebuild.held.renewed()

    async def write(transaction: Transaction) -> None:
        await rebuild.held.guard(transaction)
        for key in keys:
            transaction.delete(table.collection, key)

    await rebuild.by.store.transact(write)
