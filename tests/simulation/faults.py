"""What goes wrong: transactions that run again, crashes around a commit, events that come twice, late or long after."""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aex_models.events import TOPICS
from aex_runtime.bus.port import Message, Outgoing
from aex_runtime.bus.topology import route
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection, Document, Query, T, Transaction


class Crash(Exception):
    """The process ends here: what is committed stays, what is in memory is gone."""


@dataclass(frozen=True, slots=True)
class Odds:
    """How likely each fault is, at each occasion."""

    rerun: float = 0.05
    crash_before_commit: float = 0.02
    crash_after_commit: float = 0.03
    duplicate: float = 0.10
    drop: float = 0.10
    governance_down: float = 0.10
    verifier_breaks: float = 0.10
    sandbox_away: float = 0.20
    code_fails: float = 0.25


CALM = Odds(0, 0, 0, 0, 0, 0, 0, 0, 0)


class FaultyStore:
    """A store whose transactions run again, or end in a crash on either side of the commit."""

    def __init__(self, dice: random.Random, odds: Callable[[], Odds]) -> None:
        self._store = MemoryStore()
        self._dice = dice
        self._odds = odds

    async def get(self, collection: Collection, key: str) -> Document | None:
        return await self._store.get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return await self._store.get_many(collection, keys)

    async def query(self, query: Query) -> list[Document]:
        return await self._store.query(query)

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        odds = self._odds()
        if self._dice.random() < odds.rerun:
            await fn(_Discarded(self._store))  # it lost against somebody: whatever it decided is void
        if self._dice.random() < odds.crash_before_commit:
            raise Crash("before the commit")
        result = await self._store.transact(fn)
        if self._dice.random() < odds.crash_after_commit:
            raise Crash("after the commit")
        return result

    async def ping(self) -> None:
        await self._store.ping()

    async def close(self) -> None:
        await self._store.close()


class _Discarded:
    """A transaction whose writes go nowhere."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def get(self, collection: Collection, key: str) -> Document | None:
        return await self._store.get(collection, key)

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return await self._store.get_many(collection, keys)

    def create(self, *_: object) -> None: ...

    def update(self, *_: object) -> None: ...

    def put(self, *_: object) -> None: ...

    def delete(self, *_: object) -> None: ...


@dataclass(slots=True)
class Flight:
    """A message on its way to one service."""

    service: str
    topic: str
    message: Message
    attempt: int = 0
    due_at: float = 0.0


class SimulatedBus:
    """Messages in flight, in no order; the simulator takes them out as the dice say."""

    def __init__(self) -> None:
        self.flights: list[Flight] = []
        self.published: list[Flight] = []
        """Every message that ever was, as it set out."""

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        for service, pairs in route(TOPICS, messages).items():
            self.flights.extend(Flight(service, topic, message) for topic, message in pairs)
            self.published.extend(Flight(service, topic, message) for topic, message in pairs)

    async def consume(self, *_: object) -> None:
        raise NotImplementedError("the simulator delivers by itself")

    async def ping(self) -> None:
        return None

    async def close(self) -> None:
        return None
