"""Tables of ledger transactions, which are created once and never edited, and of settlements."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import combinations

from aex_models.canonical import sha256_hex
from aex_models.settlement import LedgerTransaction, Settlement, SettlementStatus
from aex_runtime.clock import epoch_micros
from aex_runtime.periods import Period, period_bounds
from aex_runtime.store.port import Collection, Document, Fields, Index, Query, Store, key_of
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit
from aex_settlement.measures import TRANSACTIONS_TOTAL
from aex_settlement.repository.journal import UNSEALED
from aex_settlement.repository.pages import decode_or_none, iterate_pages, read_documents
from aex_settlement.rules.journal import SealedTransaction, Unsealed
from aex_settlement.rules.transactions import leader_id

OWNERS = ("agent_id", "consumer_id")
EXPORT_PAGE = 400


TRANSACTIONS = Table(
    Collection(
        "settlement-transactions",
        (Index((), "occurred_at"), *(Index((owner,), "occurred_at") for owner in OWNERS), Index()),
    ),
    LedgerTransaction,
    lambda t: {"occurred_at": epoch_micros(t.occurred_at), **{name: getattr(t.booking, name, None) for name in OWNERS}},
)
"""Transactions by `key_of(id)`, indexed by time for the export (all, or of one party), and by key for the audit."""
FILTERS = ("agent_id", "consumer_id", "domain", "status")
"""Fields by which settlements can be listed, in any combination."""
SETTLEMENTS = Table(
    Collection(
        "settlement-settlements",
        tuple(
            Index(equal, "settled_at", "desc")
            for size in range(len(FILTERS) + 1)
            for equal in combinations(FILTERS, size)
        ),
    ),
    Settlement,
    lambda s: {**{name: str(getattr(s, name)) for name in FILTERS}, "settled_at": epoch_micros(s.settled_at)},
    frozenset({"threshold"}),
)


def create_unsealed_transactions(unit: Unit, first: LedgerTransaction, *others: LedgerTransaction) -> None:
    """Create transactions in the unit, and the row with which they wait to be sealed together.

    The key of the row follows from the id of `first`. Raises `ValueError` unless `leader_id` of each transaction is
    that id.
    """
    sealed = []
    for each in (first, *others):
        if leader_id(each) != first.id:
            raise ValueError(f"{each.id} is sealed behind {leader_id(each)}, not behind {first.id}")
        body, fields = TRANSACTIONS.encode(each)
        unit.transaction.create(TRANSACTIONS.collection, key_of(each.id), body, fields)
        unit.measures.count(TRANSACTIONS_TOTAL, each.kind)
        sealed.append(SealedTransaction(id=each.id, digest=sha256_hex(body)))
    unsealed = Unsealed(transactions=tuple(sealed), occurred_at=first.occurred_at)
    unit.create(UNSEALED, key_of(unsealed.leader_id), unsealed)


def unsealed_row_key(document: Document) -> str:
    """Return the key of the row with which a stored transaction waits, or waited, to be sealed."""
    transaction = decode_or_none(TRANSACTIONS, document)
    return document.key if transaction is None else key_of(leader_id(transaction))


async def read_transaction_documents(store: Store, ids: Sequence[str]) -> list[Document | None]:
    """Return the documents of these transactions, in this order; None for a missing one.

    Raises `StoreUnavailable`.
    """
    return await read_documents(store, TRANSACTIONS.collection, [key_of(each) for each in ids])


def decode_sealed_or_reason(sealed: SealedTransaction, document: Document | None) -> LedgerTransaction | str:
    """Return the transaction in a document, or as text the reason why it is not the one committed.

    `sealed` holds the id and digest with which it was committed.
    """
    if document is None:
        return "it is gone"
    if sha256_hex(document.body) != sealed.digest:
        return "it was altered"
    transaction = decode_or_none(TRANSACTIONS, document)
    if transaction is None:
        return "it cannot be read"
    return transaction if transaction.id == sealed.id else "it has another id"


async def iterate_settlement_transaction_pages(
    store: Store, equal: Fields, period: Period
) -> AsyncGenerator[Sequence[LedgerTransaction], None]:
    """Yield pages of the settlement transactions and reversals of a period, oldest first.

    `equal` limits them to one agent or consumer; empty means all. Pages are decoded in a thread.
    """
    query = Query(TRANSACTIONS.collection, equal, "occurred_at", "asc", period_bounds(period), limit=EXPORT_PAGE)
    async with aclosing(iterate_pages(store, query)) as pages:
        async for page in pages:
            yield await asyncio.to_thread(_decode_settlement_transactions, page)


def _decode_settlement_transactions(documents: Sequence[Document]) -> list[LedgerTransaction]:
    transactions = (TRANSACTIONS.decode(document).record for document in documents)
    return [each for each in transactions if each.booking is not None]


async def find_contracts_with_status(
    store: Store, contract_ids: Sequence[str], status: SettlementStatus
) -> frozenset[str]:
    """Return those of the contracts whose settlement currently has this status."""
    unique_ids = list(dict.fromkeys(contract_ids))
    found = await store.get_many(SETTLEMENTS.collection, [key_of(each) for each in unique_ids])
    return frozenset(
        contract_id
        for contract_id, document in zip(unique_ids, found, strict=True)
        if document is not None and document.fields["status"] == status.value
    )
