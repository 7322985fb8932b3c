"""The walk along the sealed journal: every batch, every transaction in it."""

from collections.abc import Callable, Iterable, Sequence

from aex_models.canonical import sha256_hex
from aex_models.settlement import LedgerTransaction
from aex_runtime.store.port import Document, Store
from aex_settlement.handlers.audit.ahead import ahead
from aex_settlement.handlers.audit.recount import Recount
from aex_settlement.handlers.audit.sealed import Missing, Sealed, each_sealed
from aex_settlement.repository.audited import decoded, is_found_by, transaction_documents
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.rules.audit.chain import Link, chain_problems, link_of, missing_link
from aex_settlement.rules.audit.findings import Findings
from aex_settlement.rules.audit.hashes import Met
from aex_settlement.rules.audit.settlements import claim_of
from aex_settlement.rules.audit.transactions import mirror_problem, original_id, transaction_problems
from aex_settlement.rules.journal import JournalBatch, SealedTransaction

Progress = Callable[[str, int, int], None]
"""Told what is under way, how much of it is done, and of how much."""


class Walk:
    """Checks batches as it passes them, and remembers what it met: the ids of transactions, the claims of bookings."""

    def __init__(
        self, store: Store, findings: Findings, key: bytes, recounts: Sequence[Recount], progress: Progress
    ) -> None:
        self.link = Link()
        self.batches = 0
        self.transactions = Met(key)
        self.claims = Met(key)
        self.hashes: dict[int, str] = {}
        """Of the batches that `watch` named."""
        self._store = store
        self._findings = findings
        self._recounts = recounts
        self._progress = progress
        self._watched: frozenset[int] = frozenset()

    def watch(self, numbers: Iterable[int]) -> None:
        """Remember the hashes of these batches."""
        self._watched = frozenset(numbers)

    async def to(self, seq: int) -> None:
        """Go on to this batch; nothing where the walk is there already."""
        first = self.link.seq + 1
        async for group in ahead(each_sealed(self._store, first, seq)):
            originals = await self._originals(group)
            for each in group:
                if isinstance(each, Missing):
                    self._miss(each)
                else:
                    self._pass(each, originals)
            self._progress("batches", self.link.seq, seq)

    def _miss(self, missing: Missing) -> None:
        many = f"batches {missing.first} to {missing.last}: " if missing.last > missing.first else ""
        self._findings.broken_link(missing.first, "batch_missing", f"{many}{missing.why}")
        self.link = missing_link(missing.last)

    def _pass(self, sealed: Sealed, originals: dict[str, LedgerTransaction | None]) -> None:
        batch = sealed.batch
        for code, detail in chain_problems(self.link, batch):
            self._findings.broken_link(batch.seq, code, detail)
        self.link = link_of(batch)
        self.batches += 1
        if batch.seq in self._watched:
            self.hashes[batch.seq] = batch.hash
        found: list[LedgerTransaction] = []
        for each, document in zip(batch.transactions, sealed.documents, strict=True):
            transaction = self._check(batch, each, document)
            if transaction is not None:
                found.append(transaction)
                self._check_mirror(batch, transaction, originals)
        for recount in self._recounts:
            recount.take(batch, found)

    def _check(
        self, batch: JournalBatch, sealed: SealedTransaction, document: Document | None
    ) -> LedgerTransaction | None:
        self.transactions.add(sealed.id)
        where = f"sealed in batch {batch.seq}"
        if document is None:
            self._findings.add("transaction_missing", sealed.id, f"{where}, and not in the ledger any more")
            return None
        if sha256_hex(document.body) != sealed.digest:
            self._findings.add("transaction_altered", sealed.id, f"{where} with other contents than it has now")
        transaction = decoded(TRANSACTIONS, document)
        if transaction is None or transaction.id != sealed.id:
            self._findings.add("transaction_wrong", sealed.id, f"{where}; what is stored is no such transaction")
            return None
        if not is_found_by(TRANSACTIONS, document, transaction):
            self._findings.add("transaction_altered", sealed.id, f"{where}; its index fields are not its contents")
        for problem in transaction_problems(transaction):
            self._findings.add("transaction_wrong", sealed.id, f"{where}: {problem}")
        claim = claim_of(transaction)
        if claim is not None:
            self.claims.add(claim.text())
        return transaction

    def _check_mirror(
        self, batch: JournalBatch, transaction: LedgerTransaction, originals: dict[str, LedgerTransaction | None]
    ) -> None:
        original = original_id(transaction)
        problem = mirror_problem(transaction, originals.get(original)) if original else None
        if problem is not None:
            self._findings.add("transaction_wrong", transaction.id, f"sealed in batch {batch.seq}: {problem}")

    async def _originals(self, group: Sequence[Sealed | Missing]) -> dict[str, LedgerTransaction | None]:
        """What the reversals among these take back, by id."""
        ids = [
            taken_back
            for each in group
            if isinstance(each, Sealed)
            for document in each.documents
            if document is not None and b'"kind":"reversal"' in document.body
            if (transaction := decoded(TRANSACTIONS, document)) is not None
            if (taken_back := original_id(transaction)) is not None
        ]
        found = await transaction_documents(self._store, ids)
        return {
            each: None if document is None else decoded(TRANSACTIONS, document)
            for each, document in zip(ids, found, strict=True)
        }


async def name_repeated(store: Store, walk: Walk, findings: Findings) -> None:
    """Name the transactions that the journal holds more than once; a second pass, where there are any."""
    repeated = walk.transactions.repeated()
    if not repeated:
        return
    met: dict[str, int] = {}
    async for group in each_sealed(store, 1, walk.link.seq):
        for batch in (each.batch for each in group if isinstance(each, Sealed)):
            for sealed in batch.transactions:
                if not walk.transactions.is_among(sealed.id, repeated):
                    continue
                if sealed.id in met:
                    detail = f"sealed in batch {met[sealed.id]}, and again in batch {batch.seq}"
                    findings.add("transaction_repeated", sealed.id, detail)
                met.setdefault(sealed.id, batch.seq)
