"""What is in the ledger and in no batch: it waits for the sealer, or somebody put it there."""

from collections.abc import Awaitable, Callable, Sequence

from aex_models.canonical import sha256_hex
from aex_models.settlement import LedgerTransaction
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Document, Store
from aex_settlement.handlers.audit.ahead import ahead
from aex_settlement.handlers.audit.walk import Progress, Walk
from aex_settlement.repository.audited import (
    all_transactions,
    all_waiting,
    decoded,
    id_at,
    is_found_by,
    settlement_documents,
    transaction_documents,
    waiting_documents,
)
from aex_settlement.repository.journal import UNSEALED
from aex_settlement.repository.ledger import TRANSACTIONS, waiting_key
from aex_settlement.repository.settlements import SETTLEMENTS
from aex_settlement.rules.audit.findings import SHOWN, Findings
from aex_settlement.rules.audit.settlements import Claim, claim_of, claims_of
from aex_settlement.rules.audit.transactions import mirror_problem, original_id, transaction_problems
from aex_settlement.rules.journal import SealedTransaction


async def check_added(
    store: Store, findings: Findings, walk: Walk, catch_up: Callable[[], Awaitable[None]], progress: Progress
) -> None:
    """Every stored transaction is in a batch that the walk met, or has its row that says that it waits.

    `catch_up` walks on to the present head: what had no row any more may have been sealed meanwhile.
    """
    done = 0
    async for page in ahead(all_transactions(store)):
        done += len(page)
        strangers = [each for each in page if not _is_met(walk, each.key)]
        if strangers:
            left = await _without_row(store, strangers)
            if left:
                await catch_up()
            for key in left:
                if not _is_met(walk, key):
                    detail = f"in no batch, and not waiting for one: it was added, or its batch is gone (key {key})"
                    findings.add("transaction_added", id_at(key), detail)
        progress("transactions", done, max(walk.transactions.count, done))


def _is_met(walk: Walk, key: str) -> bool:
    return id_at(key) in walk.transactions and key_of(id_at(key)) == key


async def _without_row(store: Store, transactions: Sequence[Document]) -> list[str]:
    """The keys of those that do not wait."""
    rows = await waiting_documents(store, [waiting_key(each) for each in transactions])
    pairs = zip(transactions, rows, strict=True)
    return [each.key for each, row in pairs if row is None or not _is_row_of(each.key, row)]


def _is_row_of(key: str, document: Document) -> bool:
    row = decoded(UNSEALED, document)
    return (
        row is not None
        and key_of(row.leader) == document.key
        and any(key_of(each.id) == key for each in row.transactions)
        and is_found_by(UNSEALED, document, row)
    )


async def check_waiting(store: Store, findings: Findings, walk: Walk) -> tuple[int, tuple[str, ...]]:
    """Each row that waits has its transaction, unchanged and possible. How many wait, and the first of them."""
    count, shown = 0, list[str]()
    async for page in all_waiting(store):
        rows = [(document, decoded(UNSEALED, document)) for document in page]
        known = [row for document, row in rows if row is not None and key_of(row.leader) == document.key]
        for document, row in rows:
            if row is None or key_of(row.leader) != document.key:
                findings.add("waiting_wrong", document.key, "the row that says that it waits says something else")
        waiting = [each for row in known for each in row.transactions]
        await _check_each(store, findings, walk, waiting)
        count += len(page) - len(known) + len(waiting)
        shown += [each.id for each in waiting][: SHOWN - len(shown)]
    return count, tuple(shown)


async def _check_each(store: Store, findings: Findings, walk: Walk, waiting: Sequence[SealedTransaction]) -> None:
    documents = await transaction_documents(store, [each.id for each in waiting])
    booked: list[LedgerTransaction] = []
    for each, document in zip(waiting, documents, strict=True):
        if each.id in walk.transactions:
            findings.add("waiting_wrong", each.id, "waits to be sealed, and is in a batch already")
        elif document is None:
            findings.add("waiting_missing", each.id, "waits to be sealed, and is not in the ledger")
        else:
            booked += _check(findings, each, document)
    await _check_booked(store, findings, booked)


def _check(findings: Findings, waiting: SealedTransaction, document: Document) -> list[LedgerTransaction]:
    """The transaction, where it books something that has to be shown."""
    transaction = decoded(TRANSACTIONS, document)
    if sha256_hex(document.body) != waiting.digest:
        findings.add("waiting_altered", waiting.id, "waits to be sealed with other contents than it has now")
    if transaction is None or transaction.id != waiting.id or not is_found_by(TRANSACTIONS, document, transaction):
        findings.add("waiting_wrong", waiting.id, "waits to be sealed; what is stored is no such transaction")
        return []
    for problem in transaction_problems(transaction):
        findings.add("waiting_wrong", waiting.id, f"waits to be sealed: {problem}")
    return [transaction] if claim_of(transaction) is not None else []


async def _check_booked(store: Store, findings: Findings, booked: Sequence[LedgerTransaction]) -> None:
    """What is booked is what its settlement's record says; both were written together."""
    ids = [each.contract_id or "" for each in booked]
    records = await settlement_documents(store, ids) if ids else []
    originals = await transaction_documents(store, [original_id(each) or each.id for each in booked])
    for transaction, record, original in zip(booked, records, originals, strict=True):
        if claim_of(transaction) not in _claims(record):
            detail = f"waits to be sealed, and the settlement of {transaction.contract_id} does not say so"
            findings.add("transaction_added", transaction.id, detail)
        if original_id(transaction) is not None:
            problem = mirror_problem(transaction, None if original is None else decoded(TRANSACTIONS, original))
            if problem is not None:
                findings.add("waiting_wrong", transaction.id, f"waits to be sealed: {problem}")


def _claims(document: Document | None) -> list[Claim]:
    record = None if document is None else decoded(SETTLEMENTS, document)
    return [] if record is None else list(claims_of(record))
