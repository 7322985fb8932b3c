"""Reads of many records: queries page by page, and documents by key past those that are damaged."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from aex_runtime.store.port import Collection, Document, Query, Scalar, Store, StoreError, StoreUnavailable
from aex_runtime.store.table import UNREADABLE, Table

M = TypeVar("M", bound=BaseModel)
BATCH = 200
"""Records read at once: few enough that decoding them does not hold the event loop for long."""


@dataclass(frozen=True, slots=True)
class RecordPage(Generic[M]):
    """Some records of a query in its order; `after` is the position of the last one when more follow."""

    records: tuple[M, ...]
    after: tuple[Scalar, str] | None


def position(document: Document, order: str | None) -> tuple[Scalar, str]:
    """Return a document's position in its query; without an order, by its key."""
    return None if order is None else document.fields[order], document.key


async def document_pages(store: Store, query: Query) -> AsyncGenerator[list[Document], None]:
    """Yield all documents of a query in pages of at most `query.limit`."""
    while True:
        page = await store.query(query)
        if page:
            yield page
        if len(page) < query.limit:
            return
        query = replace(query, after=position(page[-1], query.order))


async def read_records(store: Store, table: Table[M], query: Query) -> AsyncGenerator[M, None]:
    """Yield all records of a query, which reads `query.limit` at once."""
    async with aclosing(document_pages(store, query)) as pages:
        async for page in pages:
            for document in page:
                yield table.decode(document).record


def decode(table: Table[M], document: Document | None) -> M | None:
    """Return the record if the document holds one."""
    try:
        return None if document is None else table.decode(document).record
    except UNREADABLE:
        return None


async def read_documents(store: Store, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
    """Return the documents in the order of the keys; None also for one whose body is lost.

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
