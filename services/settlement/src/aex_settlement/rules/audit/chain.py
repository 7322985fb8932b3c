"""Whether a batch is what it says, and follows the one before it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from aex_settlement.rules.journal import GENESIS, JournalBatch, batch_hash


@dataclass(frozen=True, slots=True)
class Link:
    """Where a walk along the chain stands; what a missing batch would have told is None."""

    seq: int = 0
    hash: str | None = GENESIS
    sealed_at: datetime | None = None


def link_of(batch: JournalBatch) -> Link:
    """Where a walk stands behind this batch: what the next one must follow."""
    return Link(batch.seq, batch.hash, batch.sealed_at)


def missing_link(seq: int) -> Link:
    """Where a walk stands behind a batch that is not there."""
    return Link(seq, None, None)


def chain_problems(before: Link, batch: JournalBatch) -> Iterator[tuple[str, str]]:
    """What is wrong with a batch behind `before`: (code, detail)."""
    if batch.hash != batch_hash(batch.seq, batch.sealed_at, batch.transactions, batch.previous_hash):
        yield "batch_altered", "its hash is not that of what it holds"
    if before.hash is not None and batch.previous_hash != before.hash:
        yield "chain_broken", f"it does not follow batch {before.seq}: its previous_hash is not the hash of that one"
    if before.sealed_at is not None and batch.sealed_at <= before.sealed_at:
        yield "batch_altered", f"it was not sealed after batch {before.seq}"
