"""Audit of the sealed journal: verification of each batch and of each transaction in it."""

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from aex_models.canonical import sha256_hex
from aex_models.settlement import LedgerTransaction
from aex_runtime.store.port import Document, Store
from aex_runtime.yielding import prefetch
from aex_settlement.repository.audited import find_next_batch_number, has_matching_index_fields, read_batch_documents
from aex_settlement.repository.journal import BATCHES
from aex_settlement.repository.ledger import TRANSACTIONS, read_transaction_documents
from aex_settlement.repository.pages import decode_or_none
from aex_settlement.rules.audit_findings import AuditFindings, CompactHashSet, Link, find_chain_problems
from aex_settlement.rules.audit_transactions import (
    find_reversal_mismatch,
    find_transaction_problems,
    id_of_reversed_transaction,
    record_of_transaction,
)
from aex_settlement.rules.journal import JournalBatch, SealedTransaction

_PAGE = 100
_TRANSACTIONS = 400
"""Transactions held in memory at once; a few more at most."""
Progress = Callable[[str, int, int], None]
"""Progress callback: stage, records done, and their total."""
BatchObserver = Callable[[JournalBatch, Sequence[LedgerTransaction]], None]
"""Function that receives each verified batch and those of its transactions that can be read."""
Originals = dict[str, LedgerTransaction | None]
"""Transactions that reversals name as reversed, by id; None for one that cannot be read."""


class StoredBatch(NamedTuple):
    """Batch of the journal and the stored documents of its transactions, in order; None for a missing one."""

    batch: JournalBatch
    documents: Sequence[Document | None]

    def decode_transactions(self) -> list[LedgerTransaction]:
        """Return those of the batch's transactions that exist and can be decoded."""
        found = [decode_or_none(TRANSACTIONS, document) for document in self.documents]
        return [transaction for transaction in found if transaction is not None]


class MissingBatches(NamedTuple):
    """Range of numbers, `first` to `last`, under which no valid batch is stored, with the reason."""

    first: int
    last: int
    reason: str


async def iterate_batch_groups(
    store: Store, first: int, last: int
) -> AsyncGenerator[list[StoredBatch | MissingBatches], None]:
    """Yield the batches `first` to `last` with their transactions, in groups and in order.

    A range of missing numbers is yielded as `MissingBatches`.
    """
    seq = first
    while seq <= last:
        page = await read_batch_documents(store, seq, min(seq + _PAGE - 1, last))
        if not any(page):
            # A forged head may name a batch far away: the audit must not look for each number up to it.
            found = await find_next_batch_number(store, seq + len(page) - 1)
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
    batch = decode_or_none(BATCHES, document)
    if batch is None or batch.seq != seq:
        return MissingBatches(seq, seq, "holds something else")
    if not has_matching_index_fields(BATCHES, document, batch):
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
    found = iter(await read_transaction_documents(store, ids))
    return [
        StoredBatch(batch, [next(found) for _ in batch.transactions]) if isinstance(batch, JournalBatch) else batch
        for batch in group
    ]


class JournalVerifier:
    """Verifier of the journal's batches, in order.

    It collects the ids and booking records of their transactions.
    """

    def __init__(
        self,
        store: Store,
        findings: AuditFindings,
        key: bytes,
        observers: Sequence[BatchObserver],
        progress: Progress,
        watched: Collection[int],
    ) -> None:
        """Create a verifier at the beginning of the journal.

        `observers` are called with each batch that was read, also with one that has findings. `key` keys the hashes in
        the sets `transactions` and `records`. `progress` is called after each group of batches. `hashes` collects the
        hash of each batch whose number is in `watched`.
        """
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

    async def verify_batches_up_to(self, seq: int) -> None:
        """Verify the batches after the last verified one up to `seq`; add a finding for each defect."""
        async for group in prefetch(iterate_batch_groups(self._store, self.link.seq + 1, seq)):
            documents = [document for each in group if isinstance(each, StoredBatch) for document in each.documents]
            originals = await read_reversed_transactions(self._store, documents)
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
        for problem in find_chain_problems(self.link, batch):
            self._findings.add_broken_link(batch.seq, problem.code, problem.detail)
        self.link = Link(batch.seq, batch.hash, batch.sealed_at)
        self.batches += 1
        if batch.seq in self._watched:
            self.hashes[batch.seq] = batch.hash
        found: list[LedgerTransaction] = []
        for sealed, document in zip(batch.transactions, stored.documents, strict=True):
            self.transactions.add(sealed.id)
            origin = f"sealed in batch {batch.seq}"
            transaction = check_stored_transaction(self._findings, sealed, document, originals, origin, "transaction")
            if transaction is not None:
                found.append(transaction)
                record = record_of_transaction(transaction)
                if record is not None:
                    self.records.add(record.comparison_text())
        for observe in self._observers:
            observe(batch, found)


async def read_reversed_transactions(store: Store, documents: Iterable[Document | None]) -> Originals:
    """Return the transactions that the reversals among these documents reverse, by id."""
    ids = [
        original
        for document in documents
        if document is not None and b'"kind":"reversal"' in document.body
        if (transaction := decode_or_none(TRANSACTIONS, document)) is not None
        if (original := id_of_reversed_transaction(transaction)) is not None
    ]
    found = await read_transaction_documents(store, ids)
    return {each: decode_or_none(TRANSACTIONS, document) for each, document in zip(ids, found, strict=True)}


def check_stored_transaction(
    findings: AuditFindings,
    sealed: SealedTransaction,
    document: Document | None,
    originals: Originals,
    detail_start: str,
    code_prefix: Literal["transaction", "waiting"],
) -> LedgerTransaction | None:
    """Compare a transaction's document with its journal entry, and add a finding for each defect.

    The entry is in a batch or in an unsealed row. Returns the transaction if it can be decoded. `detail_start` begins
    each detail, and `code_prefix` the codes of findings.
    """
    if document is None:
        findings.add(f"{code_prefix}_missing", sealed.id, f"{detail_start}, and not in the ledger any more")
        return None
    if sha256_hex(document.body) != sealed.digest:
        code = "transaction_altered" if code_prefix == "transaction" else "waiting_altered"
        findings.add(code, sealed.id, f"{detail_start} with other contents than it has now")
    transaction = decode_or_none(TRANSACTIONS, document)
    if transaction is None or transaction.id != sealed.id:
        findings.add(f"{code_prefix}_wrong", sealed.id, f"{detail_start}; the stored document is another record")
        return None
    if not has_matching_index_fields(TRANSACTIONS, document, transaction):
        code = "transaction_altered" if code_prefix == "transaction" else "waiting_wrong"
        findings.add(code, sealed.id, f"{detail_start}; its index fields are not its contents")
    original = id_of_reversed_transaction(transaction)
    not_reversed = find_reversal_mismatch(transaction, originals.get(original)) if original else None
    for problem in (*find_transaction_problems(transaction), *([not_reversed] if not_reversed else ())):
        findings.add(f"{code_prefix}_wrong", sealed.id, f"{detail_start}: {problem}")
    return transaction


async def report_repeated_transactions(store: Store, verifier: JournalVerifier, findings: AuditFindings) -> None:
    """Add a finding for each repetition of a transaction in the journal.

    Reads the journal again if there is one.
    """
    repeated = verifier.transactions.find_repeated_hashes()
    if not repeated:
        return
    first_batch: dict[str, int] = {}
    async for group in iterate_batch_groups(store, 1, verifier.link.seq):
        for batch in (each.batch for each in group if isinstance(each, StoredBatch)):
            for sealed in batch.transactions:
                if not verifier.transactions.has_hash_in(sealed.id, repeated):
                    continue
                if sealed.id in first_batch:
                    detail = f"sealed in batch {first_batch[sealed.id]}, and once more in batch {batch.seq}"
                    findings.add("transaction_repeated", sealed.id, detail)
                first_batch.setdefault(sealed.id, batch.seq)
