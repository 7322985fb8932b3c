"""Whether anything was sealed before, where there is no head of the journal that says so."""

import asyncio

from aex_runtime.store.port import Query, Store
from aex_settlement.handlers.journal.races import Lost
from aex_settlement.repository.journal import BATCHES, UNSEALED, read_head
from aex_settlement.repository.ledger import TRANSACTIONS, waiting_key
from aex_settlement.repository.projections import read_state
from aex_settlement.rules.broken import BrokenJournal, UnreadableRecord
from aex_settlement.rules.projected import Projection


async def last_applied(store: Store) -> int:
    """The last batch that a projection says it has applied; 0 where none does."""
    return max(await asyncio.gather(*(_applied(store, each) for each in Projection)))


async def _applied(store: Store, projection: Projection) -> int:
    try:
        stored = await read_state(store, projection)
    except UnreadableRecord:
        return 1  # whatever it said: a watermark is first written with a batch
    return stored.record.seq if stored else 0


async def check_unbegun(store: Store) -> None:
    """Raise `BrokenJournal` where there is no head and yet a trace of a batch: a second chain would hide the first.

    Raises `Lost` where another sealer began the journal meanwhile.
    """
    trace = await _trace(store)
    if trace is None:
        return
    if await read_head(store) is not None:
        raise Lost("the journal was just begun")
    raise BrokenJournal(1, f"the journal's head is missing, and {trace}")


async def _trace(store: Store) -> str | None:
    applied = await last_applied(store)
    if applied:
        return f"a projection has applied batch {applied}"
    batches = await store.query(Query(BATCHES.collection, order="seq", limit=1))
    if batches:
        return f"there is batch {batches[0].fields['seq']}"
    oldest = await store.query(Query(TRANSACTIONS.collection, order="occurred_at", limit=1))
    if oldest and await store.get(UNSEALED.collection, waiting_key(oldest[0])) is None:
        return f"the oldest transaction (key {oldest[0].key}) waits no more: it was sealed"
    return None
