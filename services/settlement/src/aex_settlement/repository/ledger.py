"""The ledger's transactions: created, never edited, never deleted, and waiting to be sealed from their first moment."""

from aex_models.canonical import sha256_hex
from aex_models.settlement import LedgerTransaction
from aex_runtime.clock import epoch_micros
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Collection, Document, Fields, Index
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit
from aex_settlement.repository.journal import UNSEALED
from aex_settlement.rules.journal import Unsealed

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


def create_transaction(unit: Unit, transaction: LedgerTransaction) -> None:
    """Write a transaction that must not exist, and that it waits for the sealer.

    Both documents are this transaction's own: none is shared between settlements.
    """
    key = key_of(transaction.id)
    body, fields = TRANSACTIONS.encode(transaction)
    unit.transaction.create(TRANSACTIONS.collection, key, body, fields)
    waiting = Unsealed(id=transaction.id, digest=sha256_hex(body), occurred_at=transaction.occurred_at)
    unit.create(UNSEALED, key, waiting)


def transaction_digest(document: Document) -> str:
    """SHA-256 of a transaction's canonical bytes, as they are stored."""
    return sha256_hex(document.body)
