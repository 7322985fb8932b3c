"""Processes that end: what was under way in one comes to no end, what is committed stays."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from aex_runtime.bus.port import Bus, Outgoing
from aex_runtime.store.port import Collection, Document, Query, Store, T, Transaction
from tests.parts.passing import PassingStore
from tests.simulation.engine.interleaving import Pauses
from tests.simulation.faults.fate import Crash


class Process:
    """One replica of one service, through all its lives."""

    def __init__(self, restarted: Callable[[], None]) -> None:
        """`restarted` makes its memory anew."""
        self._life = 0
        self.killed = 0
        """Requests that ended with a life that another request had ended."""
        self._restarted = restarted
        self._mine: ContextVar[int | None] = ContextVar("life", default=None)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """What runs in this block runs in the process, and ends with it; a crash in it is the process's end."""
        token = self._mine.set(self._life)
        try:
            yield
        except Crash:
            self.end()
            raise
        finally:
            self._mine.reset(token)

    def check(self) -> None:
        """Raises `Crash` for who began in an earlier life."""
        if self._mine.get() not in {None, self._life}:
            self.killed += 1
            raise Crash("the process was killed by another of its requests")

    @property
    def lives(self) -> int:
        """How many it had before this one."""
        return self._life

    def end(self) -> None:
        """It is killed, with all that it has under way, and started again; once, whoever of them tells of it."""
        if self._mine.get() in {None, self._life}:
            self._life += 1
            self._restarted()


class ProcessStore(PassingStore):
    """The store as one process sees it: a crash ends the process, and nobody writes after its end."""

    def __init__(self, store: Store, process: Process) -> None:
        super().__init__(store)
        self._process = process

    async def get(self, collection: Collection, key: str) -> Document | None:
        self._process.check()
        found = await self._store.get(collection, key)
        self._process.check()
        return found

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        self._process.check()
        found = await self._store.get_many(collection, keys)
        self._process.check()
        return found

    async def query(self, query: Query) -> list[Document]:
        self._process.check()
        found = await self._store.query(query)
        self._process.check()
        return found

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        self._process.check()

        async def alive(transaction: Transaction) -> T:
            self._process.check()
            result = await fn(transaction)
            self._process.check()
            return result

        try:
            result = await self._store.transact(alive)
        except Crash:
            self._process.end()  # whatever else its handlers make of that
            raise
        self._process.check()  # it was committed, and nobody is left to know
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
