"""Audit of the sealed journal: every batch, and every transaction that it seals."""

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from aex_models.canonical import sha256_hex
from aex_models.settlement import LedgerTransaction
from aex_runtime.store.port import Document, Store
from aex_runtime.yielding import prefetch
from aex_settlement.repository.audited import batch_documents, is_indexed, next_batch_number
from aex_settlement.repository.journal import BATCHES
from aex_settlement.repository.ledger import TRANSACTIONS, transaction_documents
from aex_settlement.repository.pages import decode
from aex_settlement.rules.audit_findings import AuditFindings, CompactHashSet, Link, chain_problems
from aex_settlement.rules.audit_transactions import (
    mirror_problem,
    original_id,
    record_of_transaction,
    transaction_problems,
)
from aex_settlement.rules.journal import JournalBatch, SealedTransaction

_PAGE = 100
_TRANSACTIONS = 400
"""Transactions, or a few more, that are held at once."""
Progress = Callable[[str, int, int], None]
"""Called with the stage, the records done, and their total."""
BatchObserver = Callable[[JournalBatch, Sequence[LedgerTransaction]], None]
Originals = dict[str, LedgerTransaction | None]


class StoredBatch(NamedTuple):
    """A batch and the documents of its transactions, in its order; None for a missing one."""

    batch: JournalBatch
    documents: Sequence[Document | None]

    def transactions(self) -> list[LedgerTransaction]:
        """Return the transactions that can be read."""
        found = [decode(TRANSACTIONS, document) for document in self.documents]
        return [transaction for transaction in found if transaction is not None]


class MissingBatches(NamedTuple):
    """Numbers under which no batch is stored."""

    first: int
    last: int
    reason: str


async def read_batches(store: Store, first: int, last: int) -> AsyncGenerator[list[StoredBatch | MissingBatches], None]:
    """Yield the batches from `first` to `last` in their order, some at a time."""
    seq = first
    while seq <= last:
        page = await batch_documents(store, seq, min(seq + _PAGE - 1, last))
        if not any(page):
            # A forged head may name a batch far away: the audit must not look for each number up to it.
            found = await next_batch_number(store, seq + len(page) - 1)
            end = last if found is None else min(found - 1, last)
            yield [MissingBatches(seq, end, "is missing")]
            seq = end + 1
            continue
        batches = [_decode_batch(seq + offset, document) for offset, document in enumerate(page)]
        for group in _split(batches):
            yield await _with_transactions(store, group)
        seq += len(page)


def _decode_batch(seq: int, document: Document | None) -> JournalBatch | MissingBatches:
    if document is None:
        return MissingBatches(seq, seq, "is missing")
    batch = decode(BATCHES, document)
    if batch is None or batch.seq != seq:
        return MissingBatches(seq, seq, "holds something else")
    if not is_indexed(BATCHES, document, batch):
        return MissingBatches(seq, seq, "has other index fields than its contents: queries miss it")
    return batch


def _split(batches: Sequence[JournalBatch | MissingBatches]) -> Iterator[list[JournalBatch | MissingBatches]]:
    group: list[JournalBatch | MissingBatches] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += len(batch.transactions) if isinstance(batch, JournalBatch) else 0
        if size >= _TRANSACTIONS:
            yield group
            group, size = [], 0
    if group:
        yield group


async def _with_transactions(
    store: Store, group: Sequence[JournalBatch | MissingBatches]
) -> list[StoredBatch | MissingBatches]:
    ids = [each.id for batch in group if isinstance(batch, JournalBatch) for each in batch.transactions]
    found = iter(await transaction_documents(store, ids))
    return [
        StoredBatch(batch, [next(found) for _ in batch.transactions]) if isinstance(batch, JournalBatch) else batch
        for batch in group
    ]


class JournalVerifier:
    """Verifies batches in order, and remembers their transactions' ids and records."""

    def __init__(
        self,
        store: Store,
        findings: AuditFindings,
        key: bytes,
        observers: Sequence[BatchObserver],
        progress: Progress,
        watched: Collection[int],
    ) -> None:
        """`observers` are called with each verified batch; `key` is that of the hash sets."""
        self.link = Link()
        self.batches = 0
        self.transactions = CompactHashSet(key)
        self.records = CompactHashSet(key)
        self.hashes: dict[int, str] = {}
        """Hashes of the `watched` batches."""
        self._store = store
        self._findings = findings
        self._observers = observers
        self._progress = progress
        self._watched = watched

    async def verify_to(self, seq: int) -> None:
        async for group in prefetch(read_batches(self._store, self.link.seq + 1, seq)):
            documents = [document for each in group if isinstance(each, StoredBatch) for document in each.documents]
            originals = await read_originals(self._store, documents)
            for each in group:
                if isinstance(each, StoredBatch):
                    self._verify(each, originals)
                    continue
                numbers = f"batches {each.first} to {each.last}: " if each.last > each.first else ""
                self._findings.add_broken_link(each.first, "batch_missing", f"{numbers}{each.reason}")
                self.link = Link(each.last, hash=None)
            self._progress("batches", self.link.seq, seq)

    def _verify(self, stored: StoredBatch, originals: Originals) -> None:
        batch = stored.batch
        for code, detail in chain_problems(self.link, batch):
            self._findings.add_broken_link(batch.seq, code, detail)
        self.link = Link(batch.seq, batch.hash, batch.sealed_at)
        self.batches += 1
        if batch.seq in self._watched:
            self.hashes[batch.seq] = batch.hash
        found: list[LedgerTransaction] = []
        for sealed, document in zip(batch.transactions, stored.documents, strict=True):
            self.transactions.add(sealed.id)
            origin = f"sealed in batch {batch.seq}"
            transaction = check_transaction(self._findings, sealed, document, originals, origin, "transaction")
            if transaction is not None:
                found.append(transaction)
                record = record_of_transaction(transaction)
                if record is not None:
                    self.records.add(record.text())
        for observe in self._observers:
            observe(batch, found)


async def read_originals(store: Store, documents: Iterable[Document | None]) -> Originals:
    """Return the transactions that the reversals among these documents reverse, by id."""
    ids = [
        original
        for document in documents
        if document is not None and b'"kind":"reversal"' in document.body
        if (transaction := decode(TRANSACTIONS, document)) is not None
        if (original := original_id(transaction)) is not None
    ]
    found = await transaction_documents(store, ids)
    return {each: decode(TRANSACTIONS, document) for each, document in zip(ids, found, strict=True)}


def check_transaction(
    findings: AuditFindings,
    sealed: SealedTransaction,
    document: Document | None,
    originals: Originals,
    origin: str,
    kind: Literal["transaction", "waiting"],
) -> LedgerTransaction | None:
    """Add a finding for each defect, with codes of this kind; return the transaction if it can be read."""
    if document is None:
        findings.add(f"{kind}_missing", sealed.id, f"{origin}, and not in the ledger any more")
        return None
    if sha256_hex(document.body) != sealed.digest:
        code = "transaction_altered" if kind == "transaction" else "waiting_altered"
        findings.add(code, sealed.id, f"{origin} with other contents than it has now")
    transaction = decode(TRANSACTIONS, document)
    if transaction is None or transaction.id != sealed.id:
        findings.add(f"{kind}_wrong", sealed.id, f"{origin}; the stored document is another record")
        return None
    if not is_indexed(TRANSACTIONS, document, transaction):
        code = "transaction_altered" if kind == "transaction" else "waiting_wrong"
        findings.add(code, sealed.id, f"{origin}; its index fields are not its contents")
    original = original_id(transaction)
    not_reversed = mirror_problem(transaction, originals.get(original)) if original else None
    for problem in (*transaction_problems(transaction), *([not_reversed] if not_reversed else ())):
        findings.add(f"{kind}_wrong", sealed.id, f"{origin}: {problem}")
    return transaction


async def report_repeated(store: Store, verifier: JournalVerifier, findings: AuditFindings) -> None:
    """Add a finding for each transaction that the journal holds more than once."""
    repeated = verifier.transactions.find_repeated()
    if not repeated:
        return
    first_batch: dict[str, int] = {}
    async for group in read_batches(store, 1, verifier.link.seq):
        for batch in (each.batch for each in group if isinstance(each, StoredBatch)):
            for sealed in batch.transactions:
                if not verifier.transactions.is_among(sealed.id, repeated):
                    continue
                if sealed.id in first_batch:
                    detail = f"sealed in batch {first_batch[sealed.id]}, and once more in batch {batch.seq}"
                    findings.add("transaction_repeated", sealed.id, detail)
                first_batch.setdefault(sealed.id, batch.seq)
