"""Updates of the projections: each sealed batch is applied to each projection exactly once.

A projection's watermark, the number of its last batch, moves in the transaction that applies the batches.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from aex_models.settlement import LedgerTransaction
from aex_runtime.store.port import Document, Store, Transaction
from aex_runtime.yielding import map_yielding
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.concurrency import ConcurrentUpdate, Guard, allow_without_lease, retry_on_conflict
from aex_settlement.handlers.journal.projection_updates import DRAFTS, ProjectionDraft
from aex_settlement.repository.journal import find_batches_after
from aex_settlement.repository.ledger import decode_sealed_or_reason, read_transaction_documents
from aex_settlement.repository.projections import STATES, read_projection_state
from aex_settlement.rules.account_books import SealedBatch
from aex_settlement.rules.journal import BrokenJournal, JournalBatch, SealedTransaction, compute_batch_hash
from aex_settlement.rules.projections import Projection, ProjectionState

_log = structlog.get_logger("aex_settlement.watermarks")


@dataclass(frozen=True, slots=True)
class Watermark:
    """State of a projection as last read, with the key under which it is stored."""

    key: str
    state: ProjectionState
    stored: bool
    """False before the first batch is applied."""


async def read_watermark_or_initial(deps: Deps, projection: Projection) -> Watermark:
    """Return the projection's stored watermark, or else an initial one at batch 0.

    The initial watermark belongs to a new generation and is not stored here.
    """
    state = await read_projection_state(deps.store, projection)
    if state is not None:
        return Watermark(projection.value, state, stored=True)
    first = ProjectionState(projection=projection, generation=deps.ids.new("gen"), seq=0)
    return Watermark(projection.value, first, stored=False)


async def apply_batches_that_fit_one_transaction(
    deps: Deps, watermark: Watermark, batches: Sequence[SealedBatch], guard: Guard
) -> Watermark:
    """Apply as many of the next batches as fit into one transaction, and return the new watermark.

    Raises `ConcurrentUpdate`, and writes nothing, when the stored watermark is not the given one.
    """
    draft, count = await _fill_draft(DRAFTS[watermark.state.projection](), batches)
    last = batches[count - 1].batch
    state = watermark.state.model_copy(update={"seq": last.seq, "sealed_at": last.sealed_at})

    async def write(transaction: Transaction) -> bool:
        await guard(transaction)
        stored = await STATES.get(transaction, watermark.key)
        if (stored.record if stored else None) != (watermark.state if watermark.stored else None):
            return False
        # Read outside of the transaction, in one request: every change of these documents moves the watermark too.
        for document in await draft.build_documents(deps.store, watermark.state.generation):
            transaction.put(*document)
        transaction.put(STATES.collection, watermark.key, *STATES.encode(state))
        return True

    if not await deps.store.transact(write):
        raise ConcurrentUpdate(f"{watermark.key} is no longer at {watermark.state.seq}")
    _log.debug("journal_projected", projection=watermark.key, generation=state.generation, seq=state.seq, batches=count)
    return Watermark(watermark.key, state, stored=True)


async def _fill_draft(draft: ProjectionDraft, batches: Sequence[SealedBatch]) -> tuple[ProjectionDraft, int]:
    for count, batch in enumerate(batches):
        if not draft.try_add(batch):
            return draft, count
        await asyncio.sleep(0)  # adding a batch takes a few milliseconds
    return draft, len(batches)


_BATCHES = 5
"""Batches read at once."""
_TRANSACTIONS = 200
AHEAD = 2_000
"""Transactions that are read ahead: about as many as one application may take."""


class JournalReader:
    """Reader of sealed batches in order, with a cache of those that are still needed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._batches: dict[int, SealedBatch] = {}

    async def read_some_batches_after(self, seq: int) -> list[SealedBatch]:
        """Return the next batches after number `seq`, with about `AHEAD` transactions; none at the end.

        Raises `BrokenJournal` when a batch or a transaction is missing or altered, `StoreUnavailable`.
        """
        found: list[SealedBatch] = []
        count = 0
        while count < AHEAD:
            following = seq + len(found) + 1
            if following not in self._batches and not await self._read(following):
                break
            found.append(self._batches[following])
            count += len(found[-1].transactions)
        return found

    def cache_sealed(self, batch: SealedBatch) -> None:
        """Cache a batch that was just sealed, unless the cache holds `AHEAD` transactions."""
        if sum(len(each.transactions) for each in self._batches.values()) < AHEAD:
            self._batches[batch.batch.seq] = batch

    def drop_cached_up_to(self, seq: int) -> None:
        """Remove the batches up to number `seq` from the cache."""
        self._batches = {number: batch for number, batch in self._batches.items() if number > seq}

    async def _read(self, seq: int) -> bool:
        """Read the next batches from number `seq` into the cache; return False if there is none yet."""
        batches = await find_batches_after(self._store, seq - 1, _BATCHES)
        before = self._batches.get(seq - 1)
        previous_hash = before.batch.hash if before else None
        for expected_seq, batch in enumerate(batches, start=seq):
            _check_batch(expected_seq, batch, previous_hash)
            previous_hash = batch.hash
            if expected_seq not in self._batches:
                self._batches[expected_seq] = SealedBatch(batch, await self._transactions(batch))
        return bool(batches)

    async def _transactions(self, batch: JournalBatch) -> list[LedgerTransaction]:
        def verify(pair: tuple[SealedTransaction, Document | None]) -> LedgerTransaction:
            sealed, document = pair
            found = decode_sealed_or_reason(sealed, document)
            if isinstance(found, str):
                raise BrokenJournal(batch.seq, f"{sealed.id}: {found}", sealed.id)
            return found

        transactions: list[LedgerTransaction] = []
        for start in range(0, len(batch.transactions), _TRANSACTIONS):
            page = batch.transactions[start : start + _TRANSACTIONS]
            documents = await read_transaction_documents(self._store, [each.id for each in page])
            transactions += await map_yielding(verify, zip(page, documents, strict=True))
        return transactions


def _check_batch(expected_seq: int, batch: JournalBatch, previous_hash: str | None) -> None:
    if batch.seq != expected_seq:
        raise BrokenJournal(expected_seq, "it is missing")
    if batch.hash != compute_batch_hash(batch.seq, batch.sealed_at, batch.transactions, batch.previous_hash):
        raise BrokenJournal(expected_seq, "it was altered")
    if previous_hash is not None and batch.previous_hash != previous_hash:
        raise BrokenJournal(expected_seq, "it does not follow the batch before it")


async def apply_sealed_batches_to_projections(
    deps: Deps, guard: Guard = allow_without_lease, reader: JournalReader | None = None
) -> int:
    """Apply sealed batches until both projections are at the head, and return the number applied.

    Raises `BrokenJournal`, whose batch is not applied, `StoreUnavailable`, and errors of `guard`.
    """
    journal = reader or JournalReader(deps.store)  # shared: each batch is read once for both projections
    applied = 0

    async def advance_to_head() -> None:
        nonlocal applied
        watermarks = [await read_watermark_or_initial(deps, each) for each in Projection]
        while True:
            least = min(each.state.seq for each in watermarks)
            batches = await journal.read_some_batches_after(least)
            if not batches:
                return
            watermarks = [
                await apply_batches_that_fit_one_transaction(deps, each, batches, guard)
                if each.state.seq == least
                else each
                for each in watermarks
            ]
            done = min(each.state.seq for each in watermarks)
            journal.drop_cached_up_to(done)
            applied += done - least

    await retry_on_conflict(deps, "projection_moved", advance_to_head)
    return applied
