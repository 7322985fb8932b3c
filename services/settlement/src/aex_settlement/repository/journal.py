"""The sealed journal, and the rows of transactions that wait to be sealed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from aex_runtime.clock import epoch_micros, from_epoch_micros
from aex_runtime.store.port import Bound, Collection, Document, Index, Query, Scalar, Store
from aex_runtime.store.table import UNREADABLE, Reader, Table
from aex_settlement.repository.pages import decode
from aex_settlement.rules.journal import JournalBatch, JournalHead, UnreadableRecord, Unsealed

UNSEALED = Table(
    Collection("settlement-unsealed", (Index((), "occurred_at"),)),
    Unsealed,
    lambda unsealed: {"occurred_at": epoch_micros(unsealed.occurred_at)},
)
"""Rows of one commit each, by the key of its first transaction, until they are sealed."""
BATCHES = Table(
    Collection("settlement-batches", (Index((), "seq"), Index((), "sealed_at", "desc"))),
    JournalBatch,
    lambda batch: {"seq": batch.seq, "sealed_at": epoch_micros(batch.sealed_at)},
)
HEAD = Table(Collection("settlement-journal-head"), JournalHead)
HEAD_KEY = "head"


@contextmanager
def name_unreadable(collection: str, key: str) -> Iterator[None]:
    """Raise `UnreadableRecord`, naming the record, when it is not what its table says."""
    try:
        yield
    except UNREADABLE as error:
        raise UnreadableRecord(collection, key) from error


@dataclass(frozen=True, slots=True)
class UnsealedRow:
    """A row of transactions that wait to be sealed."""

    document: Document
    record: Unsealed | None
    """Decoded row; None if it cannot be read."""

    @property
    def occurred_at(self) -> datetime:
        """Return the row's position in its index; 1970 if the field is no instant."""
        found = self.document.fields.get("occurred_at")
        try:
            return from_epoch_micros(found if type(found) is int else 0)
        except OverflowError:
            return from_epoch_micros(0)


def batch_key(seq: int) -> str:
    return f"{seq:012d}"


async def read_head(reader: Reader) -> JournalHead | None:
    """Return the head; None before the first batch. Raises `UnreadableRecord`."""
    with name_unreadable(HEAD.collection.name, HEAD_KEY):
        stored = await HEAD.get(reader, HEAD_KEY)
    return stored.record if stored else None


async def batches_after(store: Store, seq: int, limit: int) -> list[JournalBatch]:
    """Return at most `limit` batches after `seq`, in their order. Raises `UnreadableRecord`."""
    query = Query(BATCHES.collection, order="seq", bounds=(Bound(">", seq),), limit=limit)
    return [_decode_batch(document) for document in await store.query(query)]


async def batch_at(store: Store, instant: int) -> JournalBatch | None:
    """Return the latest batch sealed at or before an instant (microseconds since 1970)."""
    found = await BATCHES.find(store, order="sealed_at", direction="desc", bounds=(Bound("<=", instant),), limit=1)
    return found[0].record if found else None


def _decode_batch(document: Document) -> JournalBatch:
    with name_unreadable(BATCHES.collection.name, document.key):
        return BATCHES.decode(document).record


async def unsealed_page(
    store: Store, bounds: Sequence[Bound], after: tuple[Scalar, str] | None, limit: int
) -> list[UnsealedRow]:
    """Return at most `limit` unsealed rows, oldest first, with those that cannot be read."""
    query = Query(UNSEALED.collection, order="occurred_at", bounds=tuple(bounds), after=after, limit=limit)
    return [UnsealedRow(document, decode(UNSEALED, document)) for document in await store.query(query)]
