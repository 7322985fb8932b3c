"""Sealing of the journal: each committed transaction goes into one numbered, chained batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

import structlog

from aex_models.settlement import LedgerTransaction
from aex_runtime.low_watermark import LowWatermark
from aex_runtime.store.port import AlreadyExists, Document, Scalar, Transaction, key_of
from aex_runtime.yielding import map_yielding
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.checks import check_no_earlier_journal, last_applied
from aex_settlement.handlers.journal.concurrency import ConcurrentUpdate, Guard, retry_on_conflict, skip_guard
from aex_settlement.handlers.journal.project import JournalReader
from aex_settlement.measures import SEAL_LAG_SECONDS
from aex_settlement.repository.journal import (
    BATCHES,
    HEAD,
    HEAD_KEY,
    UNSEALED,
    UnsealedRow,
    batch_key,
    read_head,
    unsealed_page,
)
from aex_settlement.repository.ledger import transaction_documents, verify_sealed
from aex_settlement.repository.pages import position
from aex_settlement.rules.account_books import SealedBatch
from aex_settlement.rules.batching import MAX_TRANSACTIONS, SealableGroup, split_batches
from aex_settlement.rules.journal import BrokenJournal, JournalHead, Unsealed, head_of, seal

MAX_CLOCK_SKEW = timedelta(seconds=10)
"""More than the clocks of two replicas differ, or than a burst of batches runs ahead of one."""
_NO_HEAD = JournalHead(seq=0)
_log = structlog.get_logger("aex_settlement.seal_journal")


@dataclass(slots=True)
class SealerState:
    """A sealer's knowledge of the unsealed rows, from the time it takes the lease."""

    low_watermark: LowWatermark = field(default_factory=LowWatermark)
    refused: dict[str, str] = field(default_factory=dict)
    """Transactions that could not be sealed in the last run, by id, with the reason."""


async def seal_unsealed(
    deps: Deps,
    guard: Guard = skip_guard,
    state: SealerState | None = None,
    reader: JournalReader | None = None,
    limit: int | None = None,
) -> int:
    """Seal unsealed transactions, oldest first: all, or `limit` or a few more; return their number.

    The very first run seals an empty batch, so that there is a sealed instant from the start. Transactions that were
    committed together are sealed together. A row with a missing or altered transaction is logged with an alarm and
    stays; it delays no other. `reader` keeps some of the sealed batches for the projections.
    Raises `StoreUnavailable`, what `guard` raises, and `BrokenJournal` when earlier batches are missing.
    """
    run = _SealRun(deps, guard, state or SealerState(), reader or JournalReader(deps.store), limit)
    await retry_on_conflict(deps, "journal_moved", run.run)
    return run.sealed


class UnsealableRow(NamedTuple):
    """A row that stays unsealed."""

    reasons: dict[str, str]
    """By transaction id; by the row's key if the row cannot be read."""
    occurred_at: datetime


def _classify_row(row: UnsealedRow, documents: Mapping[str, Document | None]) -> SealableGroup | UnsealableRow:
    record = row.record
    if record is None or key_of(record.leader) != row.document.key:
        reason = {record.leader if record else row.document.key: "its row was altered"}
        return UnsealableRow(reason, row.occurred_at)
    results = [verify_sealed(each, documents[each.id]) for each in record.transactions]
    intact = tuple(each for each in results if not isinstance(each, str))
    if len(intact) < len(results):
        return UnsealableRow(_refusal_reasons(record, results), row.occurred_at)
    return SealableGroup(row.document.key, record.transactions, intact)


def _refusal_reasons(record: Unsealed, results: Sequence[LedgerTransaction | str]) -> dict[str, str]:
    """Return a reason for each transaction of the row: they are sealed together, or none of them is."""
    wrong = {each.id: why for each, why in zip(record.transactions, results, strict=True) if isinstance(why, str)}
    first = next(iter(wrong))
    return {
        each.id: wrong.get(each.id, f"it was committed with {first}: {wrong[first]}") for each in record.transactions
    }


@dataclass(slots=True)
class _SealRun:
    deps: Deps
    guard: Guard
    state: SealerState
    reader: JournalReader
    limit: int | None
    sealed: int = 0
    first_refused_at: datetime | None = None
    refused: dict[str, str] = field(default_factory=dict)

    async def run(self) -> None:
        """Seal page by page. Raises `ConcurrentUpdate` when another sealer has sealed meanwhile."""
        now = self.deps.clock.now()
        self.first_refused_at, self.refused = None, {}
        self.state.low_watermark = self.state.low_watermark.start(now)
        bounds = self.state.low_watermark.bounds
        head = await self._read_head()  # before the rows: see `_seal`
        after: tuple[Scalar, str] | None = None
        while True:
            page = await unsealed_page(self.deps.store, bounds, after, MAX_TRANSACTIONS)
            for groups in split_batches(await self._sealable_groups(page)):
                head = await self._seal(head, groups)
                self.sealed += sum(len(each.sealed) for each in groups)
            is_last = len(page) < MAX_TRANSACTIONS
            self._advance_low_watermark(now if is_last else page[-1].occurred_at)
            if is_last:
                self.state.refused = self.refused
                return
            if self.limit is not None and self.sealed >= self.limit:
                self.state.refused |= self.refused
                return
            after = position(page[-1].document, "occurred_at")

    def _advance_low_watermark(self, moment: datetime) -> None:
        first = moment if self.first_refused_at is None else min(self.first_refused_at, moment)
        self.state.low_watermark = self.state.low_watermark.advance(first)

    async def _read_head(self) -> JournalHead:
        """Return the head; a run from the very beginning also compares it with the projections."""
        is_full = not self.state.low_watermark.bounds
        applied = await last_applied(self.deps.store) if is_full else 0  # first: the head is never behind them
        head = await read_head(self.deps.store)
        if head is None:
            await check_no_earlier_journal(self.deps.store)
            return await self._seal(_NO_HEAD, ())
        if head.seq < applied:
            raise BrokenJournal(head.seq + 1, f"it is missing, and a projection has applied batch {applied}")
        return head

    async def _sealable_groups(self, page: Sequence[UnsealedRow]) -> list[SealableGroup]:
        """Compare each row with its transactions, and refuse those that differ."""
        ids = [each.id for row in page if row.record is not None for each in row.record.transactions]
        documents = dict(zip(ids, await transaction_documents(self.deps.store, ids), strict=True))
        rows = await map_yielding(lambda row: _classify_row(row, documents), page)
        for each in rows:
            if isinstance(each, UnsealableRow):
                self._refuse(each)
        return [each for each in rows if isinstance(each, SealableGroup)]

    def _refuse(self, row: UnsealableRow) -> None:
        first = self.first_refused_at
        self.first_refused_at = row.occurred_at if first is None else min(first, row.occurred_at)
        self.refused |= row.reasons
        for name, reason in row.reasons.items():
            if self.state.refused.get(name) != reason:
                _log.critical("transaction_not_sealed", alarm=True, transaction_id=name, reason=reason)

    async def _seal(self, head: JournalHead, groups: Sequence[SealableGroup]) -> JournalHead:
        """Commit the batch behind `head` and return the new head.

        Only sealing deletes rows, and each sealing moves the head. So rows that were read after `head` all exist while
        it is the head. Raises `ConcurrentUpdate` when it no longer is.
        """
        now = self.deps.clock.now()
        batch = seal(head, [sealed for each in groups for sealed in each.sealed], now)

        async def write(transaction: Transaction) -> bool:
            await self.guard(transaction)
            if (await read_head(transaction) or _NO_HEAD) != head:
                return False
            transaction.create(BATCHES.collection, batch_key(batch.seq), *BATCHES.encode(batch))
            for each in groups:
                transaction.delete(UNSEALED.collection, each.key)
            transaction.put(HEAD.collection, HEAD_KEY, *HEAD.encode(head_of(batch)))
            return True

        try:
            is_sealed = await self.deps.store.transact(write)
        except AlreadyExists:
            is_sealed = False
            await self._check_head_moved(head)
        if not is_sealed:
            raise ConcurrentUpdate(f"the head is no longer {head.seq}")
        sealed_batch = SealedBatch(batch, [each for group in groups for each in group.transactions])
        self._report(sealed_batch, now)
        self.reader.keep(sealed_batch)
        return head_of(batch)

    def _report(self, sealed: SealedBatch, now: datetime) -> None:
        batch = sealed.batch
        sealed_at = batch.sealed_at.isoformat()
        if sealed.transactions:
            oldest = min(each.occurred_at for each in sealed.transactions)
            self.deps.unit_of_work.measures.observe(SEAL_LAG_SECONDS, (now - oldest).total_seconds())
        _log.info(
            "journal_sealed", seq=batch.seq, hash=batch.hash, sealed_at=sealed_at, transactions=len(batch.transactions)
        )
        if batch.sealed_at - now > MAX_CLOCK_SKEW:
            # Sealed instants only move forward: until this clock has caught up, each is a microsecond after the last.
            _log.critical("clock_behind_journal", alarm=True, sealed_at=sealed_at, now=now.isoformat())

    async def _check_head_moved(self, head: JournalHead) -> None:
        """Raise `BrokenJournal` when the batch exists although the head has not moved: the head was set back."""
        if (await read_head(self.deps.store) or _NO_HEAD) == head:
            raise BrokenJournal(head.seq + 1, "it stands behind what the head says is the last batch")
