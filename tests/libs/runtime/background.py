"""What the tests of pump, sweeper, consumer and leases share."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from aex_models.events import WorkChecked
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import BusError, BusUnavailable, Outgoing
from aex_runtime.store.port import Collection, Document, Query, Store, StoreUnavailable, T, Transaction
from aex_runtime.unit_of_work import Unit
from tests.bus.messages import PATIENCE_S, stop

SERVICE = "verification"
TOPIC = "work.checked"
"""From verification to work-publisher."""
START = datetime(2025, 1, 1, tzinfo=UTC)


def emit_checked(*names: str) -> Callable[[Unit], Awaitable[None]]:
    """A unit that emits `work.checked` for each of these works."""

    async def unit(unit: Unit) -> None:
        for name in names:
            unit.emit(TOPIC, name, WorkChecked(work_id=name, ok=True))

    return unit


class RecordingBus(MemoryBus):
    """A bus that tells what was published, and can be down or refuse what its test names."""

    def __init__(self) -> None:
        super().__init__()
        self.published: list[str] = []
        self.calls = 0
        self.down = False
        self.down_after: int | None = None
        """Down once it has been called so often more."""
        self.refused: frozenset[str] = frozenset()

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        self.calls += 1
        await asyncio.sleep(0)
        if self.down or self.down_after == 0:
            raise BusUnavailable("the bus is down")
        if self.down_after is not None:
            self.down_after -= 1
        subjects = [each.message.attributes["ce-subject"] for each in messages]
        if self.refused & set(subjects):
            raise BusError("a message is too large")
        await super().publish(messages)
        self.published += subjects


class FailingStore:
    """A store that can be unreachable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.down = False

    async def get(self, collection: Collection, key: str) -> Document | None:
        self._check()
        return await self._store.get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        self._check()
        return await self._store.get_many(collection, keys)

    async def query(self, query: Query) -> list[Document]:
        self._check()
        return await self._store.query(query)

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        self._check()
        return await self._store.transact(fn)

    async def ping(self) -> None:
        self._check()

    async def close(self) -> None:
        return None

    def _check(self) -> None:
        if self.down:
            raise StoreUnavailable("the store is down")


class AskedStore(FailingStore):
    """A store that notes its queries."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.asked: list[Query] = []

    async def query(self, query: Query) -> list[Document]:
        self.asked.append(query)
        return await super().query(query)

    def took(self) -> list[Query]:
        """The queries since the last time of asking."""
        taken, self.asked = self.asked, []
        return taken


def begins(query: Query) -> str | int | None:
    """Where the bounds let a query begin; None: at the beginning."""
    return next((bound.value for bound in query.bounds if bound.comparison == ">="), None)


@asynccontextmanager
async def running(work: Awaitable[None]) -> AsyncIterator["asyncio.Task[None]"]:
    """Background work that runs for the length of the block."""

    async def run() -> None:
        await work

    task = asyncio.create_task(run())
    await asyncio.sleep(0)  # what is cancelled before it began never runs at all
    try:
        yield task
    finally:
        await stop(task)


async def eventually_async(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until the condition holds; fail loudly where it never does."""
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():  # noqa: ASYNC110 the condition reads a store
            await asyncio.sleep(0.005)


def later(**units: float) -> datetime:
    """A moment after `START`."""
    return START + timedelta(**units)
