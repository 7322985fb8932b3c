"""Store with outages, contention, crashes beside a commit and lost answers."""

from collections.abc import Awaitable, Callable, Sequence

from aex_runtime.store.port import Collection, Contention, Document, Query, Store, StoreUnavailable, T, Transaction
from tests.parts.passing import ForwardingStore
from tests.simulation.faults.fate import Crash, Fate


class FaultyStore(ForwardingStore):
    """A store with outages, repeated transactions and crashes beside the commit."""

    def __init__(self, name: str, fate: Fate, store: Store) -> None:
        """`name` identifies the store in outages."""
        super().__init__(store)
        self._name = name
        self._fate = fate

    async def get(self, collection: Collection, key: str) -> Document | None:
        self._reached()
        return await self._store.get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        self._reached()
        return await self._store.get_many(collection, keys)

    async def query_page(self, query: Query) -> list[Document]:
        self._reached()
        return await self._store.query_page(query)

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        fate = self._fate
        if fate.is_away(self._name):
            raise StoreUnavailable("away")
        if fate.happens("rerun"):
            await fn(_Discarded(self._store))  # a conflict: its decision is void
        if fate.happens("crash_before_commit"):
            raise Crash("before the commit")
        if fate.happens("store_refuses"):
            raise Contention("it lost too often") if fate.share(1) else StoreUnavailable("no answer")
        result = await self._store.transact(fn)
        if fate.happens("crash_after_commit"):
            raise Crash("after the commit")
        if fate.happens("answer_lost"):
            raise StoreUnavailable("no answer: the commit may have succeeded")
        return result

    def _reached(self) -> None:
        if self._fate.is_away(self._name) or self._fate.happens("store_unread"):
            raise StoreUnavailable("no answer")


class _Discarded:
    """A transaction whose writes go nowhere."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, collection: Collection, key: str) -> Document | None:
        return await self._store.get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return await self._store.get_many(collection, keys)

    def create(self, *_: object) -> None: ...

    def update(self, *_: object) -> None: ...

    def put(self, *_: object) -> None: ...

    def delete(self, *_: object) -> None: ...
