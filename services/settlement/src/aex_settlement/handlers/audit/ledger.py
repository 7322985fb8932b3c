"""Audit of the ledger's records outside the journal: settlements, added and unsealed transactions."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from aex_models.settlement import LedgerTransaction, Settlement
from aex_runtime.store.port import Document, Store, key_of
from aex_runtime.yielding import prefetch
from aex_settlement.handlers.audit.journal import (
    JournalVerifier,
    Progress,
    StoredBatch,
    check_stored_transaction,
    iterate_batch_groups,
    read_reversed_transactions,
)
from aex_settlement.repository.audited import (
    has_matching_index_fields,
    id_from_key,
    iterate_document_pages,
    read_settlement_documents,
)
from aex_settlement.repository.journal import UNSEALED
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS, read_transaction_documents, unsealed_row_key
from aex_settlement.repository.pages import decode_or_none, read_documents
from aex_settlement.rules.audit_findings import MAX_LISTED, AuditFindings
from aex_settlement.rules.audit_transactions import (
    BookingRecord,
    find_settlement_problems,
    format_differing_field_names,
    record_of_transaction,
    records_of_settlement,
)
from aex_settlement.rules.journal import SealedTransaction, Unsealed


async def compare_settlements_with_ledger(
    store: Store, findings: AuditFindings, verifier: JournalVerifier, progress: Progress
) -> int:
    """Compare all settlements with the verified transactions, and return the number of settlements.

    Adds a finding for a settlement that differs from the ledger, and for a transaction without its settlement. The
    verifier must not advance meanwhile.
    """
    count = matched = 0
    # Newest first: those created meanwhile are left out.
    async for page in prefetch(iterate_document_pages(store, SETTLEMENTS, "settled_at", "desc")):
        count += len(page)
        records: list[BookingRecord] = []
        for document in page:
            settlement = _check_settlement(findings, document)
            if settlement is not None:
                records += records_of_settlement(settlement)
        unverified = [record for record in records if record.comparison_text() not in verifier.records]
        matched += len(records) - len(unverified)
        await _check_unverified(store, findings, unverified)
        progress("settlements", count, max(count, verifier.records.count))
    if matched != verifier.records.count:
        await _report_missing_settlements(store, findings, verifier.link.seq)
    return count


def _check_settlement(findings: AuditFindings, document: Document) -> Settlement | None:
    settlement = decode_or_none(SETTLEMENTS, document)
    if settlement is None:
        findings.add("settlement_wrong", id_from_key(document.key), "the stored document is no settlement")
        return None
    subject = settlement.contract_id
    if document.key != key_of(subject):
        findings.add("settlement_added", subject, f"stored a second time, under {document.key}")
        return None
    if not has_matching_index_fields(SETTLEMENTS, document, settlement):
        findings.add("settlement_wrong", subject, "its index fields are not its contents: lists show it wrongly")
    for problem in find_settlement_problems(settlement):
        findings.add("settlement_wrong", subject, problem)
    return settlement


async def _check_unverified(store: Store, findings: AuditFindings, records: Sequence[BookingRecord]) -> None:
    """Compare records whose transactions were not verified with the ledger; add findings."""
    documents = await read_transaction_documents(store, [record.transaction_id for record in records])
    for record, document in zip(records, documents, strict=True):
        transaction = decode_or_none(TRANSACTIONS, document)
        posted = None if transaction is None else record_of_transaction(transaction)
        if posted != record:
            detail = f"names {record.transaction_id}, which is not in the ledger"
            if posted is not None:
                detail = f"{format_differing_field_names(record, posted)} is not as posted by {record.transaction_id}"
            findings.add("settlement_differs", record.contract_id, detail)


async def _report_missing_settlements(store: Store, findings: AuditFindings, last: int) -> None:
    """Read the journal again and add a finding for each settlement transaction without its settlement."""
    reported = {each.subject for each in findings.listed}
    async for group in iterate_batch_groups(store, 1, last):
        found = [each for batch in group if isinstance(batch, StoredBatch) for each in batch.decode_transactions()]
        transactions = [each for each in found if record_of_transaction(each) is not None]
        documents = await read_settlement_documents(store, [each.contract_id or "" for each in transactions])
        for transaction, document in zip(transactions, documents, strict=True):
            contract_id = transaction.contract_id or ""
            if contract_id not in reported and (problem := _settlement_problem(transaction, document)):
                findings.add(*problem)
                reported.add(contract_id)


def _settlement_problem(transaction: LedgerTransaction, document: Document | None) -> tuple[str, str, str] | None:
    contract_id = transaction.contract_id or ""
    settlement = decode_or_none(SETTLEMENTS, document)
    if document is None or settlement is None:
        return "settlement_missing", contract_id, f"posted by {transaction.id}; its settlement is missing"
    if record_of_transaction(transaction) not in tuple(records_of_settlement(settlement)):
        return "settlement_differs", contract_id, f"its settlement does not have what {transaction.id} posts"
    if not has_matching_index_fields(SETTLEMENTS, document, settlement):
        return "settlement_wrong", contract_id, "its index fields are not its contents: it is not listed"
    return None


async def report_transactions_outside_journal(
    store: Store,
    findings: AuditFindings,
    verifier: JournalVerifier,
    verify_to_current_head: Callable[[], Awaitable[None]],
    progress: Progress,
) -> None:
    """Add a finding for each stored transaction that is in no verified batch and in no unsealed row.

    `verify_to_current_head` verifies batches sealed meanwhile, in which such a transaction may be.
    """
    done = 0
    async for page in prefetch(iterate_document_pages(store, TRANSACTIONS)):
        done += len(page)
        unverified = [each for each in page if not _is_verified(verifier, each.key)]
        rows = await read_documents(store, UNSEALED.collection, [unsealed_row_key(each) for each in unverified])
        pairs = zip(unverified, rows, strict=True)
        unlisted = [each.key for each, row in pairs if not _has_transaction(row, each.key)]
        if unlisted:
            await verify_to_current_head()
        for key in unlisted:
            if not _is_verified(verifier, key):
                detail = f"in no batch, and not waiting for one: it was added, or its batch is gone (key {key})"
                findings.add("transaction_added", id_from_key(key), detail)
        progress("transactions", done, max(verifier.transactions.count, done))


def _is_verified(verifier: JournalVerifier, key: str) -> bool:
    transaction_id = id_from_key(key)
    return transaction_id in verifier.transactions and key_of(transaction_id) == key


def _has_transaction(document: Document | None, key: str) -> bool:
    row = None if document is None else _decode_row(document)
    if document is None or row is None or not has_matching_index_fields(UNSEALED, document, row):
        return False
    return any(key_of(each.id) == key for each in row.transactions)


def _decode_row(document: Document) -> Unsealed | None:
    row = decode_or_none(UNSEALED, document)
    return row if row is not None and key_of(row.leader_id) == document.key else None


class UnsealedSummary(NamedTuple):
    """Transactions that wait to be sealed."""

    total: int
    """Number of these transactions."""
    first_ids: tuple[str, ...]
    """Ids of the oldest transactions."""


async def check_and_count_unsealed_transactions(
    store: Store, findings: AuditFindings, verifier: JournalVerifier
) -> UnsealedSummary:
    """Check the transactions that wait to be sealed; return their number and the first ids.

    Adds a finding for each that is damaged, sealed already, or without its settlement.
    """
    count, listed = 0, list[str]()
    async for page in iterate_document_pages(store, UNSEALED, "occurred_at"):
        rows = [_decode_row(document) for document in page]
        for document, row in zip(page, rows, strict=True):
            if row is None:
                findings.add("waiting_wrong", document.key, "its unsealed row is another record")
        waiting = [each for row in rows if row is not None for each in row.transactions]
        await _check_waiting(store, findings, verifier, waiting)
        count += rows.count(None) + len(waiting)
        listed += [each.id for each in waiting][: MAX_LISTED - len(listed)]
    return UnsealedSummary(count, tuple(listed))


async def _check_waiting(
    store: Store, findings: AuditFindings, verifier: JournalVerifier, waiting: Sequence[SealedTransaction]
) -> None:
    documents = await read_transaction_documents(store, [each.id for each in waiting])
    originals = await read_reversed_transactions(store, documents)
    checked: list[LedgerTransaction] = []
    for each, document in zip(waiting, documents, strict=True):
        if each.id in verifier.transactions:
            findings.add("waiting_wrong", each.id, "waits to be sealed, and is in a batch already")
            continue
        transaction = check_stored_transaction(findings, each, document, originals, "waits to be sealed", "waiting")
        if transaction is not None and record_of_transaction(transaction) is not None:
            checked.append(transaction)
    # Transaction and settlement were written in the same commit.
    settlements = await read_settlement_documents(store, [each.contract_id or "" for each in checked])
    for transaction, document in zip(checked, settlements, strict=True):
        settlement = decode_or_none(SETTLEMENTS, document)
        records = () if settlement is None else tuple(records_of_settlement(settlement))
        if record_of_transaction(transaction) not in records:
            detail = f"waits to be sealed, and the settlement of {transaction.contract_id} does not have it"
            findings.add("transaction_added", transaction.id, detail)
