"""Stores with which a test gets between a process and its commits: to end it there, or to come first."""

from collections.abc import Awaitable, Callable, Iterator

from aex_runtime.store.port import Store, T, Transaction
from tests.parts.passing import PassingStore


class Crash(Exception):
    """The process ends here."""


class HookedStore(PassingStore):
    """Calls `hook` before each transaction, with its number."""

    def __init__(self, store: Store, hook: Callable[[int], Awaitable[None]]) -> None:
        super().__init__(store)
        self._hook = hook
        self.commits = 0

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        self.commits += 1
        await self._hook(self.commits)
        return await super().transact(fn)


class CrashingStore(PassingStore):
    """Store that ends the process "before" or "after" a commit, as the next of `fates` says."""

    def __init__(self, store: Store, fates: Iterator[str | None]) -> None:
        super().__init__(store)
        self._fates = fates
        self.commits = 0

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        fate = next(self._fates, None)
        if fate == "before":
            raise Crash(f"before commit {self.commits}")
        self.commits += 1
        result = await super().transact(fn)
        if fate == "after":
            raise Crash(f"after commit {self.commits}")
        return result
