"""Ids that are made from what they stand for, so that every replica makes the same one."""

from aex_models.canonical import sha256_hex


def settlement_transaction_id(contract_id: str, revision: int) -> str:
    """The id of the transaction that books a revision of a contract's cost. There is no other for this pair."""
    return _transaction_id("settlement", contract_id, revision)


def reversal_transaction_id(contract_id: str, revision: int) -> str:
    """The id of the transaction that takes a revision back: at most one for each."""
    return _transaction_id("reversal", contract_id, revision)


def _transaction_id(kind: str, contract_id: str, revision: int) -> str:
    cause = "\x1f".join((kind, contract_id, str(revision)))
    return f"txn_{sha256_hex(cause.encode())[:40]}"
