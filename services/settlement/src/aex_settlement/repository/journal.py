"""The sealed journal, and what waits to be sealed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from aex_runtime.clock import epoch_micros, from_epoch_micros
from aex_runtime.store.port import Bound, Collection, Document, Index, Query, Scalar, Store
from aex_runtime.store.table import UNREADABLE, Reader, Stored, Table
from aex_settlement.repository.readable import readable
from aex_settlement.rules.journal import JournalBatch, JournalHead, Unsealed

UNSEALED = Table(
    Collection("settlement-unsealed", (Index((), "occurred_at"),)),
    Unsealed,
    lambda waiting: {"occurred_at": epoch_micros(waiting.occurred_at)},
)
"""A row for each commit, by the key of its first transaction; deleted in the transaction that seals them."""
BATCHES = Table(
    Collection("settlement-batches", (Index((), "seq"), Index((), "sealed_at", "desc"))),
    JournalBatch,
    lambda batch: {"seq": batch.seq, "sealed_at": epoch_micros(batch.sealed_at)},
)
HEAD = Table(Collection("settlement-journal-head"), JournalHead)
HEAD_KEY = "head"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row of what waits to be sealed."""

    document: Document
    record: Unsealed | None
    """None where it cannot be read."""

    @property
    def occurred_at(self) -> datetime:
        """Where it stands in its index; 1970 where somebody wrote there what is no moment."""
        found = self.document.fields.get("occurred_at")
        try:
            return from_epoch_micros(found if type(found) is int else 0)
        except OverflowError:
            return from_epoch_micros(0)

    @property
    def position(self) -> tuple[Scalar, str]:
        """What the page behind it begins after."""
        return self.document.fields["occurred_at"], self.document.key


def batch_key(seq: int) -> str:
    """The key of a batch: by its number."""
    return f"{seq:012d}"


async def read_head(reader: Reader) -> Stored[JournalHead] | None:
    """The head; None before the first batch. Raises `UnreadableRecord`."""
    with readable(HEAD.collection.name, HEAD_KEY):
        return await HEAD.get(reader, HEAD_KEY)


async def batches_after(store: Store, seq: int, limit: int) -> list[JournalBatch]:
    """At most `limit` batches behind `seq`, in their order. Raises `UnreadableRecord`."""
    query = Query(BATCHES.collection, order="seq", bounds=(Bound(">", seq),), limit=limit)
    return [_batch(document) for document in await store.query(query)]


async def batch_at(store: Store, instant: int) -> JournalBatch | None:
    """The latest batch sealed at or before an instant (microseconds since 1970)."""
    found = await BATCHES.find(store, order="sealed_at", direction="desc", bounds=(Bound("<=", instant),), limit=1)
    return found[0].record if found else None


def _batch(document: Document) -> JournalBatch:
    with readable(BATCHES.collection.name, document.key):
        return BATCHES.decode(document).record


async def waiting_page(
    store: Store, bounds: Sequence[Bound], after: tuple[Scalar, str] | None, limit: int
) -> list[Waiting]:
    """At most `limit` of what waits, oldest first. A row that cannot be read holds up no other."""
    query = Query(UNSEALED.collection, order="occurred_at", bounds=tuple(bounds), after=after, limit=limit)
    return [Waiting(document, _read(document)) for document in await store.query(query)]


def _read(document: Document) -> Unsealed | None:
    try:
        return UNSEALED.decode(document).record
    except UNREADABLE:
        return None
