"""Store that returns or writes altered content, as defective code would."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from aex_runtime.store.port import Collection, Document, Fields, Query, Store, T, Transaction
from aex_runtime.store.table import Table
from tests.parts.passing import ForwardingStore

M = TypeVar("M", bound=BaseModel)
AlteredRead = Callable[[Collection, Document], Document | None]
"""Function from a document to the one returned in its place; None hides it."""
Kept = Callable[[Collection, str, bytes], bytes | None]
"""Function from collection, key and body to the body written in its place; None skips the write."""


def change_record(table: Table[M], document: Document, change: Callable[[M], M]) -> Document:
    """Return the document with a changed record and unchanged index fields."""
    return replace(document, body=table.encode(change(table.decode(document).record))[0])


class AlteredStore(ForwardingStore):
    """Store that alters documents when it reads or writes them."""

    def __init__(
        self,
        store: Store,
        alter_read: AlteredRead = lambda _, document: document,
        kept: Kept = lambda _collection, _key, body: body,
    ) -> None:
        super().__init__(store)
        self._alter_read, self._kept = alter_read, kept

    async def get(self, collection: Collection, key: str) -> Document | None:
        return self._show(collection, await self._store.get(collection, key))

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return [self._show(collection, each) for each in await self._store.get_many(collection, keys)]

    async def query_page(self, query: Query) -> list[Document]:
        alter_read = [self._show(query.collection, each) for each in await self._store.query_page(query)]
        return [each for each in alter_read if each is not None]

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        async def altered(transaction: Transaction) -> T:
            return await fn(_Altered(transaction, self._show, self._kept))

        return await super().transact(altered)

    def _show(self, collection: Collection, document: Document | None) -> Document | None:
        return None if document is None else self._alter_read(collection, document)


class _Altered:
    def __init__(
        self,
        transaction: Transaction,
        show: Callable[[Collection, Document | None], Document | None],
        kept: Kept,
    ) -> None:
        self._transaction, self._show, self._kept = transaction, show, kept
        self.delete = transaction.delete

    async def get(self, collection: Collection, key: str) -> Document | None:
        return self._show(collection, await self._transaction.get(collection, key))

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return [self._show(collection, each) for each in await self._transaction.get_many(collection, keys)]

    def create(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        kept = self._kept(collection, key, body)
        if kept is not None:
            self._transaction.create(collection, key, kept, fields)

    def update(self, collection: Collection, seen: Document, body: bytes, fields: Fields) -> None:
        kept = self._kept(collection, seen.key, body)
        if kept is not None:
            self._transaction.update(collection, seen, kept, fields)

    def put(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        kept = self._kept(collection, key, body)
        if kept is not None:
            self._transaction.put(collection, key, kept, fields)
