"""Sealing of the journal: each committed transaction goes into one numbered batch of a hash chain."""

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
from aex_settlement.handlers.journal.checks import check_no_earlier_journal, read_last_applied_batch_number
from aex_settlement.handlers.journal.concurrency import ConcurrentUpdate, Guard, allow_without_lease, retry_on_conflict
from aex_settlement.handlers.journal.project import JournalReader
from aex_settlement.measures import SEAL_LAG_SECONDS
from aex_settlement.repository.journal import (
    BATCHES,
    HEAD,
    HEAD_KEY,
    UNSEALED,
    UnsealedRow,
    batch_key,
    read_journal_head,
    read_unsealed_page,
)
from aex_settlement.repository.ledger import decode_sealed_or_reason, read_transaction_documents
from aex_settlement.repository.pages import document_position
from aex_settlement.rules.account_books import SealedBatch
from aex_settlement.rules.batching import MAX_TRANSACTIONS, SealableGroup, split_batches
from aex_settlement.rules.journal import BrokenJournal, JournalHead, Unsealed, build_next_batch, head_of

MAX_CLOCK_SKEW = timedelta(seconds=10)
"""Distance of the journal's time from this clock above which an alarm is logged; replicas differ by less."""
_NO_HEAD = JournalHead(seq=0)
_log = structlog.get_logger("aex_settlement.seal_journal")


@dataclass(slots=True)
class SealerState:
    """State that a sealer keeps between its runs while it holds the lease."""

    low_watermark: LowWatermark = field(default_factory=LowWatermark)
    """Time before which no unsealed rows are expected."""
    refused: dict[str, str] = field(default_factory=dict)
    """Reason by id for each transaction that could not be sealed in the last run."""


async def seal_unsealed_transactions(
    deps: Deps,
    guard: Guard = allow_without_lease,
    state: SealerState | None = None,
    reader: JournalReader | None = None,
    limit: int | None = None,
) -> int:
    """Seal unsealed transactions, oldest first, and return how many were sealed.

    With `limit`, stop after the page of rows that reaches it. Transactions that were committed together are sealed
    together. The first run of a ledger seals an empty batch, so that there is always a sealed instant. A row with a
    missing or altered transaction stays unsealed; each new reason is logged once, with an alarm. `reader` caches sealed
    batches for the projections.

    Raises `BrokenJournal` when earlier batches are missing, `StoreUnavailable`, and errors of `guard`.
    """
    run = _SealRun(deps, guard, state or SealerState(), reader or JournalReader(deps.store), limit)
    await retry_on_conflict(deps, "journal_moved", run.run)
    return run.sealed


class UnsealableRow(NamedTuple):
    """Row of transactions that cannot be sealed, with the reasons."""

    reasons: dict[str, str]
    """Reasons by transaction id, or by the row's key if the row cannot be read."""
    occurred_at: datetime


def _classify_row(row: UnsealedRow, documents: Mapping[str, Document | None]) -> SealableGroup | UnsealableRow:
    record = row.record
    if record is None or key_of(record.leader_id) != row.document.key:
        reason = {record.leader_id if record else row.document.key: "its row was altered"}
        return UnsealableRow(reason, row.occurred_at)
    results = [decode_sealed_or_reason(each, documents[each.id]) for each in record.transactions]
    intact = tuple(each for each in results if not isinstance(each, str))
    if len(intact) < len(results):
        return UnsealableRow(_refusal_reasons(record, results), row.occurred_at)
    return SealableGroup(row.document.key, record.transactions, intact)


def _refusal_reasons(record: Unsealed, results: Sequence[LedgerTransaction | str]) -> dict[str, str]:
    """Return a reason for each transaction of the row, because they can only be sealed together."""
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
            page = await read_unsealed_page(self.deps.store, bounds, after, MAX_TRANSACTIONS)
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
            after = document_position(page[-1].document, "occurred_at")

    def _advance_low_watermark(self, moment: datetime) -> None:
        first = moment if self.first_refused_at is None else min(self.first_refused_at, moment)
        self.state.low_watermark = self.state.low_watermark.advance(first)

    async def _read_head(self) -> JournalHead:
        """Return the head; seal an empty batch if there is none.

        A run over all rows also checks that no projection is ahead of the head.
        """
        is_full = not self.state.low_watermark.bounds
        applied = (
            await read_last_applied_batch_number(self.deps.store) if is_full else 0
        )  # first: the head is never behind them
        head = await read_journal_head(self.deps.store)
        if head is None:
            await check_no_earlier_journal(self.deps.store)
            return await self._seal(_NO_HEAD, ())
        if head.seq < applied:
            raise BrokenJournal(head.seq + 1, f"it is missing, and a projection has applied batch {applied}")
        return head

    async def _sealable_groups(self, page: Sequence[UnsealedRow]) -> list[SealableGroup]:
        """Return the groups of transactions that can be sealed; log and remember the rows that cannot."""
        ids = [each.id for row in page if row.record is not None for each in row.record.transactions]
        documents = dict(zip(ids, await read_transaction_documents(self.deps.store, ids), strict=True))
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
        """Commit the batch after `head`, delete its unsealed rows, and return the new head.

        Raises `ConcurrentUpdate` if `head` is no longer the journal's head. Otherwise the rows that were read after
        `head` still exist, because only sealing deletes rows.
        """
        now = self.deps.clock.now()
        batch = build_next_batch(head, [sealed for each in groups for sealed in each.sealed], now)

        async def write(transaction: Transaction) -> bool:
            await self.guard(transaction)
            if (await read_journal_head(transaction) or _NO_HEAD) != head:
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
        self.reader.cache_sealed(sealed_batch)
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
        """Raise `BrokenJournal` if the batch exists and the head has not moved: the head was set back."""
        if (await read_journal_head(self.deps.store) or _NO_HEAD) == head:
            raise BrokenJournal(head.seq + 1, "it stands behind what the head says is the last batch")
