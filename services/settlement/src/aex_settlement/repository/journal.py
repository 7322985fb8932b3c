"""Tables of the sealed journal, and of the transactions that wait to be sealed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from aex_runtime.clock import epoch_micros, from_epoch_micros
from aex_runtime.store.port import Bound, Collection, Document, Index, Query, Scalar, Store
from aex_runtime.store.table import UNREADABLE, Reader, Table
from aex_settlement.repository.pages import decode_or_none
from aex_settlement.rules.journal import JournalBatch, JournalHead, UnreadableRecord, Unsealed

UNSEALED = Table(
    Collection("settlement-unsealed", (Index((), "occurred_at"),)),
    Unsealed,
    lambda unsealed: {"occurred_at": epoch_micros(unsealed.occurred_at)},
)
"""Rows of unsealed transactions, one for each commit, under the key of its first transaction."""
BATCHES = Table(
    Collection("settlement-batches", (Index((), "seq"), Index((), "sealed_at", "desc"))),
    JournalBatch,
    lambda batch: {"seq": batch.seq, "sealed_at": epoch_micros(batch.sealed_at)},
)
HEAD = Table(Collection("settlement-journal-head"), JournalHead)
HEAD_KEY = "head"


@contextmanager
def as_unreadable_record(collection: str, key: str) -> Iterator[None]:
    """Convert a decoding error in the block to `UnreadableRecord`, which names collection and key."""
    try:
        yield
    except UNREADABLE as error:
        raise UnreadableRecord(collection, key) from error


@dataclass(frozen=True, slots=True)
class UnsealedRow:
    """Stored row of transactions that wait to be sealed."""

    document: Document
    record: Unsealed | None
    """Decoded row; None if it cannot be decoded."""

    @property
    def occurred_at(self) -> datetime:
        """Return the time by which the row is indexed; 1970 if the field is invalid."""
        found = self.document.fields.get("occurred_at")
        try:
            return from_epoch_micros(found if type(found) is int else 0)
        except OverflowError:
            return from_epoch_micros(0)


def batch_key(seq: int) -> str:
    return f"{seq:012d}"


async def read_journal_head(reader: Reader) -> JournalHead | None:
    """Return the journal's head, which describes its last batch; None before the first one.

    Raises `UnreadableRecord`.
    """
    with as_unreadable_record(HEAD.collection.name, HEAD_KEY):
        stored = await HEAD.get(reader, HEAD_KEY)
    return stored.record if stored else None


async def find_batches_after(store: Store, seq: int, limit: int) -> list[JournalBatch]:
    """Return up to `limit` batches after number `seq`, in order. Raises `UnreadableRecord`."""
    query = Query(BATCHES.collection, order="seq", bounds=(Bound(">", seq),), limit=limit)
    return [_decode_batch(document) for document in await store.query_page(query)]


async def find_last_batch_sealed_by(store: Store, instant_micros: int) -> JournalBatch | None:
    """Return the last batch sealed at or before an instant in microseconds since 1970; None if none was."""
    found = await BATCHES.find(
        store, order="sealed_at", direction="desc", bounds=(Bound("<=", instant_micros),), limit=1
    )
    return found[0].record if found else None


def _decode_batch(document: Document) -> JournalBatch:
    with as_unreadable_record(BATCHES.collection.name, document.key):
        return BATCHES.decode(document).record


async def read_unsealed_page(
    store: Store, bounds: Sequence[Bound], after: tuple[Scalar, str] | None, limit: int
) -> list[UnsealedRow]:
    """Return up to `limit` unsealed rows, oldest first, including those that cannot be decoded."""
    query = Query(UNSEALED.collection, order="occurred_at", bounds=tuple(bounds), after=after, limit=limit)
    return [UnsealedRow(document, decode_or_none(UNSEALED, document)) for document in await store.query_page(query)]
