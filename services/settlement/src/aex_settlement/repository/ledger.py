"""The ledger's transactions: created, never edited, never deleted, and waiting to be sealed from their first moment."""

from aex_models.canonical import sha256_hex
from aex_models.settlement import LedgerTransaction
from aex_runtime.clock import epoch_micros
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Collection, Document, Fields, Index
from aex_runtime.store.table import UNREADABLE, Table
from aex_runtime.unit_of_work import Unit
from aex_settlement.measures import TRANSACTIONS_TOTAL
from aex_settlement.repository.journal import UNSEALED
from aex_settlement.rules.ids import leader_id
from aex_settlement.rules.journal import SealedTransaction, Unsealed

OWNERS = ("agent_id", "consumer_id")


def _fields(transaction: LedgerTransaction) -> Fields:
    booking = transaction.booking
    return {
        "occurred_at": epoch_micros(transaction.occurred_at),
        "agent_id": booking.agent_id if booking else None,
        "consumer_id": booking.consumer_id if booking else None,
    }


TRANSACTIONS = Table(
    Collection(
        "settlement-transactions",
        (
            Index((), "occurred_at"),
            *(Index((owner,), "occurred_at") for owner in OWNERS),
            Index(),
        ),
    ),
    LedgerTransaction,
    _fields,
)
"""By `key_of(id)`. Oldest first, all or one party's bookings; and all by key, for the audit."""


def create_transactions(unit: Unit, first: LedgerTransaction, *others: LedgerTransaction) -> None:
    """Write transactions that must not exist, and that they wait for the sealer: for one batch, in this order.

    No document is shared between settlements. Raises `ValueError` where `first` does not lead the others: whoever
    meets one of them must find the row with which it waits.
    """
    sealed = []
    for each in (first, *others):
        if leader_id(each) != first.id:
            raise ValueError(f"{each.id} is sealed behind {leader_id(each)}, not behind {first.id}")
        body, fields = TRANSACTIONS.encode(each)
        unit.transaction.create(TRANSACTIONS.collection, key_of(each.id), body, fields)
        unit.measures.count(TRANSACTIONS_TOTAL, each.kind)
        sealed.append(SealedTransaction(id=each.id, digest=sha256_hex(body)))
    waiting = Unsealed(transactions=tuple(sealed), occurred_at=first.occurred_at)
    unit.create(UNSEALED, key_of(waiting.leader), waiting)


def waiting_key(document: Document) -> str:
    """The key of the row with which a stored transaction waits, for as long as it does."""
    try:
        return key_of(leader_id(TRANSACTIONS.decode(document).record))
    except UNREADABLE:
        return document.key


def transaction_digest(document: Document) -> str:
    """SHA-256 of a transaction's canonical bytes, as they are stored."""
    return sha256_hex(document.body)
