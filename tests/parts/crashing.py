"""Stores that run a hook before, or simulate a crash around, a transaction of the tested code."""

from collections.abc import Awaitable, Callable, Iterator

from aex_runtime.store.port import Store, T, Transaction
from tests.parts.passing import ForwardingStore


class Crash(Exception):
    """The signal that the simulated process ends at this point."""


class HookedStore(ForwardingStore):
    """A store that calls `hook` with the number of each transaction before running it."""

    def __init__(self, store: Store, hook: Callable[[int], Awaitable[None]]) -> None:
        super().__init__(store)
        self._hook = hook
        self.commits = 0

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        self.commits += 1
        await self._hook(self.commits)
        return await super().transact(fn)


class CrashingStore(ForwardingStore):
    """A store that raises `Crash` before or after a commit.

    Each transaction takes the next of `fates`: "before", "after" or None for no crash.
    """

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
