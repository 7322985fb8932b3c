"""Repeatable concurrency: virtual time, no threads, and pauses chosen by the dice.

A race needs an action in between. While several actions run, every read and every commit yields to the loop several
times. The seed alone decides which one continues first.
"""

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar

from aex_runtime.store.port import Collection, Document, Query
from aex_runtime.store.transactions import BufferedTransaction, TransactionRetry
from tests.simulation.engine.commit_log import LoggedStore

T = TypeVar("T")
_TURNS = (0, 0, 1, 1, 2, 3, 5, 12)
"""Number of yields at one point: mostly few, sometimes enough for all others to finish."""


class Deadlock(AssertionError):
    """The error for a deadlock, in which every action waits for another one."""


class _NoWaiting(selectors.SelectSelector):
    """A clock that skips to the next timer when nothing is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Deadlock("every action waits for another one")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, without threads: waiting takes no time."""

    def __init__(self) -> None:
        self._virtual = _NoWaiting()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run the function at once. The awaiting task continues in the loop's next iteration."""
        del executor
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 the waiting action receives it
            done.set_exception(error)
        return done


def run_in_virtual_time(run: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time, and return its result."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(run)


class Pauses:
    """The points at which concurrent actions may continue instead of the current one."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._at_once = 1

    async def pause(self) -> None:
        """Yield to the event loop a random number of times."""
        if self._at_once > 1:
            for _ in range(self._dice.choice(_TURNS)):
                await asyncio.sleep(0)

    @contextmanager
    def without_interleaving(self) -> Iterator[None]:
        """Prevent pauses in the block, so that its reads see one moment."""
        at_once, self._at_once = self._at_once, 1
        try:
            yield
        finally:
            self._at_once = at_once

    async def together(self, acts: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        """Run these concurrently with the actions in progress; the first failure cancels them all."""
        self._at_once += len(acts) - 1
        try:
            async with asyncio.TaskGroup() as tasks:
                for act in acts:
                    tasks.create_task(act())
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            self._at_once -= len(acts) - 1


class InterleavingStore(LoggedStore):
    """A store that lets other actions run between a transaction's reads and its commit."""

    def __init__(self, pauses: Pauses, dice: random.Random) -> None:
        super().__init__(TransactionRetry(jitter=dice.random, monotonic=lambda: 0.0))
        self.lost = 0
        """Commits that lost against others."""
        self._pauses = pauses

    async def get(self, collection: Collection, key: str) -> Document | None:
        await self._pauses.pause()
        return await super().get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        await self._pauses.pause()
        return await super().get_many(collection, keys)

    async def query_page(self, query: Query) -> list[Document]:
        await self._pauses.pause()
        return await super().query_page(query)

    async def commit(self, transaction: BufferedTransaction) -> bool:
        await self._pauses.pause()
        done = await super().commit(transaction)
        self.lost += not done
        await self._pauses.pause()
        return done
