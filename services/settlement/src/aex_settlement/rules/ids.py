"""Ids that are made from what they stand for, so that every replica makes the same one."""

from aex_models.canonical import sha256_hex


def settlement_transaction_id(contract_id: str, revision: int) -> str:
    """The id of the transaction that books a revision of a contract's cost. There is no other for this pair."""
    cause = "\x1f".join(("settlement", contract_id, str(revision)))
    return f"txn_{sha256_hex(cause.encode())[:40]}"
