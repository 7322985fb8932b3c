"""Sealed journal: numbered batches of transactions, each with the hash of the one before it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import Field

from aex_models.canonical import canonical_digest
from aex_models.frozen import Frozen, Instant, Sha256, StrictInt

GENESIS = "0" * 64
"""Value of `previous_hash` in the first batch."""


class SealedTransaction(Frozen):
    """Id and digest of a transaction, as a batch holds them."""

    id: str
    digest: Sha256
    """SHA-256 of the canonical bytes with which it was committed."""


class Unsealed(Frozen):
    """Stored row of transactions that were committed together and wait to be sealed together, in order."""

    transactions: tuple[SealedTransaction, ...] = Field(min_length=1)
    occurred_at: Instant
    """Time of the first transaction."""

    @property
    def leader_id(self) -> str:
        """Return the id of the first transaction, from which the row's key is made."""
        return self.transactions[0].id


class JournalBatch(Frozen):
    """Transactions that were sealed together. Batches are numbered from 1 without gaps and never change.

    `hash` is the SHA-256 of the canonical JSON of all other fields, including the hash of the batch before.
    """

    seq: StrictInt = Field(ge=1)
    sealed_at: Instant
    """Time of sealing, later than that of the batch before."""
    transactions: tuple[SealedTransaction, ...]
    previous_hash: Sha256
    hash: Sha256


class JournalHead(Frozen):
    """Number, time and hash of the last batch; the sealer replaces it when it seals the next one."""

    seq: StrictInt = Field(ge=0)
    sealed_at: Instant | None = None
    hash: Sha256 = GENESIS


def compute_batch_hash(
    seq: int, sealed_at: datetime, transactions: Sequence[SealedTransaction], previous_hash: str
) -> str:
    """Return the hash of a batch with these fields."""
    sealed = {
        "seq": seq,
        "sealed_at": sealed_at.isoformat(),
        "transactions": [[each.id, each.digest] for each in transactions],
        "previous_hash": previous_hash,
    }
    return canonical_digest(sealed)


def build_next_batch(head: JournalHead, transactions: Sequence[SealedTransaction], now: datetime) -> JournalBatch:
    """Return a new batch of the transactions, which continues the hash chain of the journal after `head`.

    Its number is the next one, and its hash covers that of `head`. Its instant is `now`, or just after that of `head`
    if the clock was set back.
    """
    seq = head.seq + 1
    sealed_at = now if head.sealed_at is None else max(now, head.sealed_at + timedelta(microseconds=1))
    return JournalBatch(
        seq=seq,
        sealed_at=sealed_at,
        transactions=tuple(transactions),
        previous_hash=head.hash,
        hash=compute_batch_hash(seq, sealed_at, transactions, head.hash),
    )


def head_of(batch: JournalBatch) -> JournalHead:
    """Return the head of a journal whose last batch is this one."""
    return JournalHead(seq=batch.seq, sealed_at=batch.sealed_at, hash=batch.hash)


class LedgerCorrupt(Exception):
    """Error for a damaged ledger that an operator has to repair."""


class BrokenJournal(LedgerCorrupt):
    """Error for a batch, or a transaction in it, that is missing or altered; `reason` says which."""

    def __init__(self, seq: int, reason: str, transaction_id: str | None = None) -> None:
        super().__init__(f"batch {seq}: {reason}")
        self.seq = seq
        self.reason = reason
        self.transaction_id = transaction_id


class UnreadableRecord(LedgerCorrupt):
    """Error for a stored record that cannot be decoded as what its collection holds."""

    def __init__(self, collection: str, key: str) -> None:
        super().__init__(f"{collection}/{key} cannot be read")
        self.collection, self.key = collection, key
