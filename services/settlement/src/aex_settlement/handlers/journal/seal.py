"""SealJournal: what was committed to the ledger goes into numbered, chained batches, each transaction once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from aex_runtime.seen_clean import SeenClean
from aex_runtime.store.port import AlreadyExists, Scalar, Transaction
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.examine_waiting import Refusal, examine
from aex_settlement.handlers.journal.guards import Guard, unguarded
from aex_settlement.handlers.journal.races import Lost, again
from aex_settlement.handlers.journal.read_sealed import SealedPages
from aex_settlement.handlers.journal.traces import check_unbegun, last_applied
from aex_settlement.measures import SEAL_LAG_SECONDS
from aex_settlement.repository.journal import (
    BATCHES,
    HEAD,
    HEAD_KEY,
    UNSEALED,
    Waiting,
    batch_key,
    read_head,
    waiting_page,
)
from aex_settlement.rules.account_books import Page
from aex_settlement.rules.batching import MAX_TRANSACTIONS, Candidate, cut
from aex_settlement.rules.broken import BrokenJournal
from aex_settlement.rules.journal import JournalHead, head_of, seal

CLOCKS_APART = timedelta(seconds=10)
"""More than the clocks of two replicas differ, or than a burst of batches runs ahead of one."""
_log = structlog.get_logger("aex_settlement.seal_journal")


@dataclass(slots=True)
class Lookout:
    """What one sealer remembers of the rows that wait, from the time it takes the lease."""

    clean: SeenClean = field(default_factory=SeenClean)
    refused: dict[str, str] = field(default_factory=dict)
    """By id: what could not be sealed at the last look, and why."""


async def seal_waiting(
    deps: Deps,
    guard: Guard = unguarded,
    lookout: Lookout | None = None,
    pages: SealedPages | None = None,
    most: int | None = None,
) -> int:
    """Seal what waits, oldest first, until nothing does, or `most` or a few more are sealed; how many that were.

    The first look of all seals an empty batch, so that there is an instant of the books from the start. What was
    committed as one is sealed as one; a row of which a transaction is gone or altered is not sealed: it stays, is told
    of with an alarm, and holds up no other. `pages` keeps some of what was sealed for who applies it.
    Raises `StoreUnavailable`, what `guard` raises, and `BrokenJournal` where batches that there were are gone: no
    other is sealed in their place.
    """
    looking = _Look(deps, guard, lookout or Lookout(), pages or SealedPages(deps.store), most)
    await again(deps, "journal_moved", looking.run)
    return looking.sealed


@dataclass(slots=True)
class _Look:
    """One look at all that waits."""

    deps: Deps
    guard: Guard
    lookout: Lookout
    pages: SealedPages
    most: int | None
    sealed: int = 0
    left: datetime | None = None
    """The moment of the first row that stays."""
    refused: dict[str, str] = field(default_factory=dict)

    async def run(self) -> None:
        """Raises `Lost` where another sealer came first: then what was read of the rows may be sealed by now."""
        now = self.deps.clock.now()
        self.left, self.refused = None, {}
        self.lookout.clean = self.lookout.clean.begun(now)
        bounds = self.lookout.clean.bounds
        head = await self._opened()  # before the rows: see `_seal`
        after: tuple[Scalar, str] | None = None
        while True:
            page = await waiting_page(self.deps.store, bounds, after, MAX_TRANSACTIONS)
            for taken in cut(await self._examined(page)):
                head = await self._seal(head, taken)
                self.sealed += sum(len(each.sealed) for each in taken)
            is_last = len(page) < MAX_TRANSACTIONS
            self._reached(now if is_last else page[-1].occurred_at)
            if is_last:
                self.lookout.refused = self.refused
                return
            if self.most is not None and self.sealed >= self.most:
                self.lookout.refused |= self.refused
                return
            after = page[-1].position

    def _reached(self, moment: datetime) -> None:
        left = moment if self.left is None else min(self.left, moment)
        self.lookout.clean = self.lookout.clean.reached(left)

    async def _opened(self) -> JournalHead:
        """The head. Whenever a look begins at the beginning, it is held against the projections, too."""
        is_full = not self.lookout.clean.bounds
        applied = await last_applied(self.deps.store) if is_full else 0  # first: the head is never behind them
        stored = await read_head(self.deps.store)
        if stored is None:
            await check_unbegun(self.deps.store)
            return await self._seal(JournalHead(seq=0), ())
        if stored.record.seq < applied:
            raise BrokenJournal(stored.record.seq + 1, f"it is missing, and a projection has applied batch {applied}")
        return stored.record

    async def _examined(self, page: Sequence[Waiting]) -> list[Candidate]:
        """Those of a page that can be sealed; the others are told of."""
        candidates = []
        for each in await examine(self.deps.store, page):
            if isinstance(each, Candidate):
                candidates.append(each)
            else:
                self._refuse(each)
        return candidates

    def _refuse(self, row: Refusal) -> None:
        self.left = row.occurred_at if self.left is None else min(self.left, row.occurred_at)
        self.refused |= row.reasons
        for name, reason in row.reasons.items():
            if self.lookout.refused.get(name) != reason:
                _log.critical("transaction_not_sealed", alarm=True, transaction_id=name, reason=reason)

    async def _seal(self, head: JournalHead, taken: Sequence[Candidate]) -> JournalHead:
        """Commit the batch behind `head`; the new head.

        Rows are deleted by sealing alone, and each sealing moves the head. So rows that were read after `head`
        are all there for as long as it is the head; where it is not any more, `Lost` is raised.
        """
        now = self.deps.clock.now()
        batch = seal(head, [sealed for each in taken for sealed in each.sealed], now)

        async def write(transaction: Transaction) -> bool:
            await self.guard(transaction)
            stored = await read_head(transaction)
            if (stored.record if stored else JournalHead(seq=0)) != head:
                return False
            transaction.create(BATCHES.collection, batch_key(batch.seq), *BATCHES.encode(batch))
            for each in taken:
                transaction.delete(UNSEALED.collection, each.key)
            transaction.put(HEAD.collection, HEAD_KEY, *HEAD.encode(head_of(batch)))
            return True

        try:
            moved = await self.deps.store.transact(write)
        except AlreadyExists:
            moved = False
            await self._check_unsealed(head)
        if not moved:
            raise Lost(f"the head is no longer {head.seq}")
        if taken:
            oldest = min(each.occurred_at for one in taken for each in one.transactions)
            self.deps.unit_of_work.measures.observe(SEAL_LAG_SECONDS, (now - oldest).total_seconds())
        _log.info(
            "journal_sealed",
            seq=batch.seq,
            hash=batch.hash,
            sealed_at=batch.sealed_at.isoformat(),
            transactions=len(batch.transactions),
        )
        if batch.sealed_at - now > CLOCKS_APART:
            # Instants of the books only move forward: until this clock has caught up, each lies just behind the last.
            told = {"sealed_at": batch.sealed_at.isoformat(), "now": now.isoformat()}
            _log.critical("clock_behind_journal", alarm=True, **told)
        self.pages.keep(Page(batch, [each for one in taken for each in one.transactions]))
        return head_of(batch)

    async def _check_unsealed(self, head: JournalHead) -> None:
        """A batch was there already: right where another sealer made it; else the head was set back."""
        stored = await read_head(self.deps.store)
        if (stored.record if stored else JournalHead(seq=0)) == head:
            raise BrokenJournal(head.seq + 1, "it stands behind what the head says is the last batch")
