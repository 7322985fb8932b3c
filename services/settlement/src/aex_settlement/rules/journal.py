"""The sealed journal: numbered batches of transactions, each chained to the one before it. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import Field

from aex_models.canonical import digest
from aex_models.frozen import Frozen, Instant, Sha256, StrictInt

GENESIS = "0" * 64
"""The hash before the first batch."""


class SealedTransaction(Frozen):
    """A transaction as its batch knows it."""

    id: str
    digest: Sha256
    """Of its canonical bytes as they were committed."""


class Unsealed(Frozen):
    """What was committed as one and is in no batch yet: sealed in one batch and in this order, or not at all."""

    transactions: tuple[SealedTransaction, ...] = Field(min_length=1)
    occurred_at: Instant
    """Of the first."""

    @property
    def leader(self) -> str:
        """The id of the first: the row's key is made from it."""
        return self.transactions[0].id


class JournalBatch(Frozen):
    """Transactions that were sealed together. Batches are numbered from 1 without gaps; never edited, never deleted.

    `hash` is the SHA-256 of the canonical JSON of everything else, with the hash of the batch before it in it.
    """

    seq: StrictInt = Field(ge=1)
    sealed_at: Instant
    """Later than that of the batch before: each batch is an instant of the books."""
    transactions: tuple[SealedTransaction, ...]
    previous_hash: Sha256
    hash: Sha256


class JournalHead(Frozen):
    """The latest batch; the sealer's compare-and-set."""

    seq: StrictInt = Field(ge=0)
    sealed_at: Instant | None = None
    hash: Sha256 = GENESIS


def batch_hash(seq: int, sealed_at: datetime, transactions: Sequence[SealedTransaction], previous_hash: str) -> str:
    """What a batch's `hash` must be."""
    sealed = {
        "seq": seq,
        "sealed_at": sealed_at.isoformat(),
        "transactions": [[each.id, each.digest] for each in transactions],
        "previous_hash": previous_hash,
    }
    return digest(sealed)


def seal(head: JournalHead, transactions: Sequence[SealedTransaction], now: datetime) -> JournalBatch:
    """The batch that follows `head`; its instant lies after that of `head` whatever the clock says."""
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
    """The head once this batch is the latest."""
    return JournalHead(seq=batch.seq, sealed_at=batch.sealed_at, hash=batch.hash)
