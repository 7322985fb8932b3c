"""Stores with which a test gets between a process and its commits: to end it there, or to come first."""

from collections.abc import Awaitable, Callable, Iterator, Sequence

from aex_runtime.store.port import Collection, Document, Query, Store, T, Transaction


class Crash(Exception):
    """The process ends here."""


class HookedStore:
    """Calls `hook` before each transaction, with its number."""

    def __init__(self, store: Store, hook: Callable[[int], Awaitable[None]]) -> None:
        self._store = store
        self._hook = hook
        self.commits = 0

    async def get(self, collection: Collection, key: str) -> Document | None:
        return await self._store.get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return await self._store.get_many(collection, keys)

    async def query(self, query: Query) -> list[Document]:
        return await self._store.query(query)

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        self.commits += 1
        await self._hook(self.commits)
        return await self._store.transact(fn)

    async def ping(self) -> None:
        await self._store.ping()

    async def close(self) -> None:
        await self._store.close()


class CrashingStore(HookedStore):
    """Before each commit the next of `fates` is asked: None goes well, "before" and "after" end the process there."""

    def __init__(self, store: Store, fates: Iterator[str | None]) -> None:
        super().__init__(store, self._survive)
        self._fates = fates

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        fate = next(self._fates, None)
        if fate == "before":
            raise Crash(f"before commit {self.commits}")
        result = await super().transact(fn)
        if fate == "after":
            raise Crash(f"after commit {self.commits}")
        return result

    async def _survive(self, _commit: int) -> None:
        """Its fates are all that happens to it."""
