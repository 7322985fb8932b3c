"""Reading the journal to apply it: batches in order, with their transactions, held against their digests."""

from aex_models.settlement import LedgerTransaction
from aex_runtime.store.port import Document, Store
from aex_settlement.handlers.journal.turns import in_turns
from aex_settlement.repository.journal import batches_after
from aex_settlement.repository.sealed import as_sealed, transaction_documents
from aex_settlement.rules.account_books import Page
from aex_settlement.rules.broken import BrokenJournal
from aex_settlement.rules.journal import JournalBatch, SealedTransaction, batch_hash

_BATCHES = 5
"""Read at once."""
_TRANSACTIONS = 200
AHEAD = 2_000
"""Transactions that are read ahead, at least where there are as many: what one application may take."""


class SealedPages:
    """What follows in the journal. Pages are kept until nobody asks for them any more."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pages: dict[int, Page] = {}

    async def after(self, seq: int) -> list[Page]:
        """The pages behind a batch, `AHEAD` transactions of them or a little more; none where it is the last.

        Raises `BrokenJournal` where a batch or a transaction is missing or altered, `StoreUnavailable`.
        """
        found: list[Page] = []
        count = 0
        while count < AHEAD:
            following = seq + len(found) + 1
            if following not in self._pages and not await self._read(following):
                break
            found.append(self._pages[following])
            count += len(found[-1].transactions)
        return found

    def keep(self, page: Page) -> None:
        """A batch that was just sealed, and need not be read; where there is room."""
        if self._kept < AHEAD:
            self._pages[page.batch.seq] = page

    def forget(self, seq: int) -> None:
        """Nobody needs this batch, or one before it, any more."""
        for each in [each for each in self._pages if each <= seq]:
            del self._pages[each]

    @property
    def _kept(self) -> int:
        return sum(len(page.transactions) for page in self._pages.values())

    async def _read(self, seq: int) -> bool:
        """Read some pages from this batch on; False where there is none yet."""
        batches = await batches_after(self._store, seq - 1, _BATCHES)
        before = self._pages.get(seq - 1)
        previous = before.batch.hash if before else None
        for due, batch in enumerate(batches, start=seq):
            _check(due, batch, previous)
            previous = batch.hash
            if due not in self._pages:
                self._pages[due] = Page(batch, await self._transactions(batch))
        return bool(batches)

    async def _transactions(self, batch: JournalBatch) -> list[LedgerTransaction]:
        def whole(each: tuple[SealedTransaction, Document | None]) -> LedgerTransaction:
            sealed, document = each
            found = as_sealed(sealed, document)
            if isinstance(found, str):
                raise BrokenJournal(batch.seq, f"{sealed.id}: {found}", sealed.id)
            return found

        transactions: list[LedgerTransaction] = []
        for start in range(0, len(batch.transactions), _TRANSACTIONS):
            some = batch.transactions[start : start + _TRANSACTIONS]
            documents = await transaction_documents(self._store, [each.id for each in some])
            transactions += await in_turns(whole, zip(some, documents, strict=True))
        return transactions


def _check(due: int, batch: JournalBatch, previous: str | None) -> None:
    if batch.seq != due:
        raise BrokenJournal(due, "it is missing")
    if batch.hash != batch_hash(batch.seq, batch.sealed_at, batch.transactions, batch.previous_hash):
        raise BrokenJournal(due, "it was altered")
    if previous is not None and batch.previous_hash != previous:
        raise BrokenJournal(due, "it does not follow the batch before it")
