"""A store that shows and keeps something else than it was given: what careless code around it comes to."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from aex_runtime.store.port import Collection, Document, Fields, Query, Store, T, Transaction
from aex_runtime.store.table import Table
from tests.parts.passing import PassingStore

M = TypeVar("M", bound=BaseModel)
Shown = Callable[[Collection, Document], Document | None]
"""What is read in the place of a document; None: it is not there."""
Kept = Callable[[Collection, str, bytes], bytes | None]
"""What is written in the place of a body, from its collection and key; None: nothing is."""
Forgotten = Callable[[Collection, str], bool]
"""Whether a document is left where it is to be deleted."""


def as_it_is(_: Collection, document: Document) -> Document | None:
    """Read as it is."""
    return document


def as_told(_: Collection, __: str, body: bytes) -> bytes | None:
    """Written as told."""
    return body


def never(_: Collection, __: str) -> bool:
    """Everything is deleted that is to be."""
    return False


def changed(table: Table[M], document: Document, change: Callable[[M], M]) -> Document:
    """The document with another record in it, its index fields as they were."""
    return replace(document, body=table.encode(change(table.decode(document).record))[0])


class AlteredStore(PassingStore):
    """Shows and keeps documents otherwise than they are."""

    def __init__(
        self, store: Store, shown: Shown = as_it_is, kept: Kept = as_told, forgotten: Forgotten = never
    ) -> None:
        super().__init__(store)
        self._shown, self._kept, self._forgotten = shown, kept, forgotten

    async def get(self, collection: Collection, key: str) -> Document | None:
        return self._show(collection, await self._store.get(collection, key))

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return [self._show(collection, each) for each in await self._store.get_many(collection, keys)]

    async def query(self, query: Query) -> list[Document]:
        shown = [self._show(query.collection, each) for each in await self._store.query(query)]
        return [each for each in shown if each is not None]

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        async def altered(transaction: Transaction) -> T:
            return await fn(_Altered(transaction, self._show, self._kept, self._forgotten))

        return await super().transact(altered)

    def _show(self, collection: Collection, document: Document | None) -> Document | None:
        return None if document is None else self._shown(collection, document)


class _Altered:
    def __init__(
        self,
        transaction: Transaction,
        show: Callable[[Collection, Document | None], Document | None],
        kept: Kept,
        forgotten: Forgotten,
    ) -> None:
        self._transaction = transaction
        self._show, self._kept, self._forgotten = show, kept, forgotten

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

    def delete(self, collection: Collection, key: str) -> None:
        if not self._forgotten(collection, key):
            self._transaction.delete(collection, key)
