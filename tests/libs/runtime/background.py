import asyncio
import resource
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec

from aex_models.events import WorkChecked
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import BusError, BusUnavailable, Outgoing
from aex_runtime.store.port import Collection, Document, Query, Store, StoreUnavailable, T, Transaction
from aex_runtime.unit_of_work import Unit
from tests.bus.messages import TIMEOUT_S, stop
from tests.simulation.engine.interleaving import run_in_virtual_time

SERVICE = "verification"
TOPIC = "work.checked"
"""From verification to work-publisher."""
START = datetime(2025, 1, 1, tzinfo=UTC)


P = ParamSpec("P")


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test without threads and sockets on a loop whose time passes at once."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        run_in_virtual_time(test(*args, **kwargs))

    return run


class LoopClock:
    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time())


def emit_checked(*names: str) -> Callable[[Unit], Awaitable[None]]:
    async def unit(unit: Unit) -> None:
        for name in names:
            unit.emit(TOPIC, name, WorkChecked(work_id=name, ok=True))

    return unit


class RecordingBus(MemoryBus):
    def __init__(self) -> None:
        super().__init__()
        self.published: list[str] = []
        self.calls = 0
        self.down = False
        self.down_after: int | None = None
        """The number of calls until it is down."""
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
    def __init__(self, store: Store) -> None:
        self._store = store
        self.down = False

    async def get(self, collection: Collection, key: str) -> Document | None:
        self._check()
        return await self._store.get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        self._check()
        return await self._store.get_many(collection, keys)

    async def query_page(self, query: Query) -> list[Document]:
        self._check()
        return await self._store.query_page(query)

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


class RecordingStore(FailingStore):
    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.queries: list[Query] = []

    async def query_page(self, query: Query) -> list[Document]:
        self.queries.append(query)
        return await super().query_page(query)

    def take_queries(self) -> list[Query]:
        taken, self.queries = self.queries, []
        return taken


def lower_bound(query: Query) -> str | int | None:
    return next((bound.value for bound in query.bounds if bound.comparison == ">="), None)


@contextmanager
def full_disk(limit_bytes: int) -> Iterator[None]:
    """Let no file of this process grow beyond the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@asynccontextmanager
async def running(work: Awaitable[None]) -> AsyncIterator["asyncio.Task[None]"]:
    async def run() -> None:
        await work

    task = asyncio.create_task(run())
    await asyncio.sleep(0)  # a task that is cancelled earlier never runs
    try:
        yield task
    finally:
        await stop(task)


async def eventually_async(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not await condition():  # noqa: ASYNC110 the condition reads a store
            await asyncio.sleep(0.005)


def later(**units: float) -> datetime:
    return START + timedelta(**units)
