"""A store that forwards every call to another store, as a base for stores that change some calls."""

from collections.abc import Awaitable, Callable, Sequence

from aex_runtime.store.port import Collection, Document, Query, Store, T, Transaction


class ForwardingStore:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, collection: Collection, key: str) -> Document | None:
        return await self._store.get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return await self._store.get_many(collection, keys)

    async def query_page(self, query: Query) -> list[Document]:
        return await self._store.query_page(query)

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self._store.transact(fn)

    async def ping(self) -> None:
        await self._store.ping()

    async def close(self) -> None:
        await self._store.close()
