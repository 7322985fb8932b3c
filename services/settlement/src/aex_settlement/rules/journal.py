"""The sealed journal: numbered batches of transactions, each chained to the one before it. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import Field

from aex_models.canonical import canonical_digest
from aex_models.frozen import Frozen, Instant, Sha256, StrictInt

GENESIS = "0" * 64
"""The hash before the first batch."""


class SealedTransaction(Frozen):
    """A transaction as its batch names it."""

    id: str
    digest: Sha256
    """SHA-256 of its canonical bytes as they were committed."""


class Unsealed(Frozen):
    """Transactions that were committed together and wait to be sealed: in one batch and in this order."""

    transactions: tuple[SealedTransaction, ...] = Field(min_length=1)
    occurred_at: Instant
    """The time of the first transaction."""

    @property
    def leader(self) -> str:
        """Return the id of the first transaction, from which the row's key is made."""
        return self.transactions[0].id


class JournalBatch(Frozen):
    """Transactions that were sealed together. Batches are numbered from 1 without gaps and never change.

    `hash` is the SHA-256 of the canonical JSON of everything else, with the hash of the batch before it in it.
    """

    seq: StrictInt = Field(ge=1)
    sealed_at: Instant
    """Later than that of the batch before: each batch is a sealed instant."""
    transactions: tuple[SealedTransaction, ...]
    previous_hash: Sha256
    hash: Sha256


class JournalHead(Frozen):
    """The latest batch, which the sealer compares and sets."""

    seq: StrictInt = Field(ge=0)
    sealed_at: Instant | None = None
    hash: Sha256 = GENESIS


def batch_hash(seq: int, sealed_at: datetime, transactions: Sequence[SealedTransaction], previous_hash: str) -> str:
    sealed = {
        "seq": seq,
        "sealed_at": sealed_at.isoformat(),
        "transactions": [[each.id, each.digest] for each in transactions],
        "previous_hash": previous_hash,
    }
    return canonical_digest(sealed)


def seal(head: JournalHead, transactions: Sequence[SealedTransaction], now: datetime) -> JournalBatch:
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
        hash=batch_hash(seq, sealed_at, transactions, head.hash),
    )


def head_of(batch: JournalBatch) -> JournalHead:
    return JournalHead(seq=batch.seq, sealed_at=batch.sealed_at, hash=batch.hash)


class LedgerCorrupt(Exception):
    """The ledger is damaged and needs an operator."""


class BrokenJournal(LedgerCorrupt):
    """A batch, or a transaction that it seals, is missing or altered; `reason` names ids and numbers."""

    def __init__(self, seq: int, reason: str, transaction_id: str | None = None) -> None:
        super().__init__(f"batch {seq}: {reason}")
        self.seq = seq
        self.reason = reason
        self.transaction_id = transaction_id


class UnreadableRecord(LedgerCorrupt):
    """A stored record is not one that the service writes."""

    def __init__(self, collection: str, key: str) -> None:
        super().__init__(f"{collection}/{key} cannot be read")
        self.collection, self.key = collection, key
