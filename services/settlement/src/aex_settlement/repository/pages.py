"""Reads of many records: queries in pages, and reads by key that tolerate damaged documents."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from aex_runtime.store.port import Collection, Document, Query, Scalar, Store, StoreError, StoreUnavailable
from aex_runtime.store.table import UNREADABLE, Table

M = TypeVar("M", bound=BaseModel)
BATCH = 200
"""Records read at once: few enough that decoding them does not block the event loop for long."""


@dataclass(frozen=True, slots=True)
class RecordPage(Generic[M]):
    """Page of records."""

    records: tuple[M, ...]
    after: tuple[Scalar, str] | None
    """Position of the last record, after which the next page begins; None if no more follow."""


def document_position(document: Document, order: str | None) -> tuple[Scalar, str]:
    """Return a document's position in a query sorted by the field `order`, or by key if that is None."""
    return None if order is None else document.fields[order], document.key


async def iterate_pages(store: Store, query: Query) -> AsyncGenerator[list[Document], None]:
    """Yield all documents of a query in pages of at most `query.limit`."""
    while True:
        page = await store.query_page(query)
        if page:
            yield page
        if len(page) < query.limit:
            return
        query = replace(query, after=document_position(page[-1], query.order))


async def iterate_records(store: Store, table: Table[M], query: Query) -> AsyncGenerator[M, None]:
    """Yield all records of a query, read in pages of `query.limit`."""
    async with aclosing(iterate_pages(store, query)) as pages:
        async for page in pages:
            for document in page:
                yield table.decode(document).record


def decode_or_none(table: Table[M], document: Document | None) -> M | None:
    """Return the record in a document; None if there is no document or it cannot be decoded."""
    try:
        return None if document is None else table.decode(document).record
    except UNREADABLE:
        return None


async def read_documents(store: Store, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
    """Return the documents with these keys, in this order; None for one that is missing or damaged.

    Raises `StoreUnavailable`.
    """
    found: list[Document | None] = []
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        try:
            found += await store.get_many(collection, batch)
        except StoreUnavailable:
            raise
        except StoreError:  # one of them is damaged; the others are read one by one
            found += [await _read_document(store, collection, key) for key in batch]
    return found


async def _read_document(store: Store, collection: Collection, key: str) -> Document | None:
    try:
        return await store.get(collection, key)
    except StoreUnavailable:
        raise
    except StoreError:
        return None
