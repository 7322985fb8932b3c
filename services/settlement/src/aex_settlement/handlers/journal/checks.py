"""Checks of the journal: traces of an earlier one that was lost, and delays of sealing and projecting."""

import asyncio
from collections.abc import Sequence

from aex_runtime.store.port import Bound, Query, Store
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.concurrency import ConcurrentUpdate
from aex_settlement.repository.journal import BATCHES, UNSEALED, read_journal_head, read_unsealed_page
from aex_settlement.repository.ledger import TRANSACTIONS, unsealed_row_key
from aex_settlement.repository.projections import read_projection_state
from aex_settlement.rules.journal import BrokenJournal, UnreadableRecord
from aex_settlement.rules.projections import Projection


async def read_last_applied_batch_number(store: Store) -> int:
    """Return the number of the last batch that any projection has applied; 0 if none has."""
    return max(await asyncio.gather(*(_watermark(store, each) for each in Projection)))


async def _watermark(store: Store, projection: Projection) -> int:
    try:
        state = await read_projection_state(store, projection)
    except UnreadableRecord:
        return 1  # a watermark is first written with a batch, whatever it says now
    return state.seq if state else 0


async def check_no_earlier_journal(store: Store) -> None:
    """Raise `BrokenJournal` if the head is missing although batches were sealed before.

    A new journal would hide the earlier one. Raises `ConcurrentUpdate` when another sealer began the journal
    meanwhile.
    """
    trace = await _trace_of_batch(store)
    if trace is not None and await read_journal_head(store) is not None:
        raise ConcurrentUpdate("the journal was just begun")
    if trace is not None:
        raise BrokenJournal(1, f"the journal's head is missing, and {trace}")


async def _trace_of_batch(store: Store) -> str | None:
    applied = await read_last_applied_batch_number(store)
    if applied:
        return f"a projection has applied batch {applied}"
    batches = await store.query_page(Query(BATCHES.collection, order="seq", limit=1))
    if batches:
        return f"there is batch {batches[0].fields['seq']}"
    oldest = await store.query_page(Query(TRANSACTIONS.collection, order="occurred_at", limit=1))
    if oldest and await store.get(UNSEALED.collection, unsealed_row_key(oldest[0])) is None:
        return f"the oldest transaction (key {oldest[0].key}) waits no more: it was sealed"
    return None


async def read_oldest_unsealed_age_s(deps: Deps, bounds: Sequence[Bound] = ()) -> float:
    """Return the age of the oldest unsealed transaction in seconds; 0 if all are sealed.

    `bounds` limits the query to the range in which unsealed rows can be, which saves a scan over deleted rows.
    """
    found = await read_unsealed_page(deps.store, bounds, None, 1)
    return max(0.0, (deps.clock.now() - found[0].occurred_at).total_seconds()) if found else 0.0


async def count_batches_behind(deps: Deps, projection: Projection) -> float:
    """Return the number of sealed batches that the projection has not applied."""
    state = await read_projection_state(
        deps.store, projection
    )  # first: the head is never behind a watermark read before it
    head = await read_journal_head(deps.store)
    return (head.seq if head else 0) - (state.seq if state else 0)
