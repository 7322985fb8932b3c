"""Simulated processes that crash: work in progress is lost, and committed data stay."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from aex_runtime.bus.port import Bus, Outgoing
from aex_runtime.store.port import Collection, Document, Query, Store, T, Transaction
from tests.parts.passing import ForwardingStore
from tests.simulation.engine.interleaving import Pauses
from tests.simulation.faults.fate import Crash


class Process:
    """A replica of a service across its restarts."""

    def __init__(self, restarted: Callable[[], None]) -> None:
        """Create the process; `restarted` creates its memory."""
        self._life = 0
        self.killed = 0
        """Requests that ended with a life that another request had ended."""
        self._restarted = restarted
        self._own_tasks: ContextVar[int | None] = ContextVar("life", default=None)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Run the block in this process: each ends with the other if a crash occurs."""
        token = self._own_tasks.set(self._life)
        try:
            yield
        except Crash:
            self.end()
            raise
        finally:
            self._own_tasks.reset(token)

    def check(self) -> None:
        """Raise `Crash` if the caller started before the last restart."""
        if self._own_tasks.get() not in {None, self._life}:
            self.killed += 1
            raise Crash("the process was killed by another of its requests")

    @property
    def lives(self) -> int:
        """Return the number of restarts."""
        return self._life

    def end(self) -> None:
        """Kill the process with everything it runs, and restart it, once per crash."""
        if self._own_tasks.get() in {None, self._life}:
            self._life += 1
            self._restarted()


class ProcessStore(ForwardingStore):
    """The store of one process: a crash ends the process, and nothing is written after its end."""

    def __init__(self, store: Store, process: Process) -> None:
        super().__init__(store)
        self._process = process

    async def get(self, collection: Collection, key: str) -> Document | None:
        return await self._alive(lambda: self._store.get(collection, key))

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return await self._alive(lambda: self._store.get_many(collection, keys))

    async def query_page(self, query: Query) -> list[Document]:
        return await self._alive(lambda: self._store.query_page(query))

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        async def alive(transaction: Transaction) -> T:
            return await self._alive(lambda: fn(transaction))

        try:
            return await self._alive(lambda: self._store.transact(alive))
        except Crash:
            self._process.end()  # whatever else its handlers make of that
            raise

    async def _alive(self, act: Callable[[], Awaitable[T]]) -> T:
        """Run the act; raise `Crash` if the process has ended before or during it. It may have committed."""
        self._process.check()
        result = await act()
        self._process.check()
        return result


class ProcessBus:
    """The bus as one process sees it."""

    def __init__(self, bus: Bus, process: Process, pauses: Pauses) -> None:
        self._bus = bus
        self._process = process
        self._pauses = pauses
        self.consume = bus.consume
        self.ping = bus.ping
        self.close = bus.close

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        self._process.check()
        await self._pauses.pause()
        self._process.check()
        await self._bus.publish(messages)
        await self._pauses.pause()
        self._process.check()
