"""Ids that are made from what they stand for, so that every replica makes the same one."""

from aex_models.canonical import sha256_hex
from aex_models.settlement import LedgerTransaction, TransactionKind


def settlement_transaction_id(contract_id: str, revision: int) -> str:
    """The id of the transaction that books a revision of a contract's cost. There is no other for this pair."""
    return _transaction_id("settlement", contract_id, revision)


def reversal_transaction_id(contract_id: str, revision: int) -> str:
    """The id of the transaction that takes a revision back: at most one for each."""
    return _transaction_id("reversal", contract_id, revision)


def leader_id(transaction: LedgerTransaction) -> str:
    """The id of the first transaction of those that were committed as one with this.

    Where a revision is booked anew, that is the reversal of the one before; every other transaction leads itself.
    """
    booking, contract_id = transaction.booking, transaction.contract_id
    follows = transaction.kind is TransactionKind.SETTLEMENT and booking is not None and booking.revision > 1
    if not follows or booking is None or contract_id is None:
        return transaction.id
    return reversal_transaction_id(contract_id, booking.revision - 1)


def _transaction_id(kind: str, contract_id: str, revision: int) -> str:
    cause = "\x1f".join((kind, contract_id, str(revision)))
    return f"txn_{sha256_hex(cause.encode())[:40]}"
