"""A bus in memory, for the simulator and for tests: the semantics of the durable ones, gone with the process.

The only one whose backlog takes memory, and has no bound.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

from aex_models.events import TOPICS, Topic
from aex_runtime.bus.consumption import Claim, Claimed, Consumption, Pace
from aex_runtime.bus.port import Ack, Delivery, Disposition, Message, Outgoing, Receiver
from aex_runtime.bus.topology import check_subscription, route
from aex_runtime.clock import Clock, WallClock
from aex_runtime.ids import Ids, RandomIds


@dataclass(slots=True)
class _Row:
    topic: str
    message: Message
    due_at: datetime | None = None
    attempts: int = 0
    claim: str | None = None


class MemoryBus:
    """Queues in dictionaries, one for each subscribing service."""

    def __init__(
        self,
        clock: Clock | None = None,
        ids: Ids | None = None,
        topics: Mapping[str, Topic] = TOPICS,
        pace: Pace | None = None,
    ) -> None:
        self._clock = clock or WallClock()
        self._ids = ids or RandomIds()
        self._topics = topics
        self._pace = pace or Pace()
        self._rows: dict[str, dict[int, _Row]] = {}
        self._wakes: dict[str, set[asyncio.Event]] = {}
        self._numbers = count(1)

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        for service, pairs in route(self._topics, messages).items():
            for topic, message in pairs:
                self._rows.setdefault(service, {})[next(self._numbers)] = _Row(topic, message)
            for wake in self._wakes.get(service, ()):
                wake.set()

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        check_subscription(self._topics, service, topics)
        wake = asyncio.Event()
        self._wakes.setdefault(service, set()).add(wake)
        try:
            await Consumption(self._queue(service, topics), receive, concurrency, self._pace, wake, self._ids).run()
        finally:
            self._wakes[service].discard(wake)

    async def deliver_due(self, service: str, topics: Sequence[str], receive: Receiver) -> int:
        """Deliver everything that is due now, one at a time in order; how many there were. For tests and simulation."""
        check_subscription(self._topics, service, topics)
        queue = self._queue(service, topics)
        claimed = await queue.claim(len(self._rows.get(service, ())))
        for claim in claimed.claims:
            await queue.settle(claim, await receive(claim.delivery))
        return len(claimed.claims)

    def seen_by_another(self, pace: Pace) -> "MemoryBus":
        """The same queues, as another process would open them."""
        other = MemoryBus(self._clock, self._ids, self._topics, pace)
        other._rows, other._wakes, other._numbers = self._rows, self._wakes, self._numbers
        return other

    async def backlog(self, service: str) -> int:
        """How many messages a service has not acked yet."""
        return len(self._rows.get(service, ()))

    async def ping(self) -> None:
        return None

    async def close(self) -> None:
        return None

    def _queue(self, service: str, topics: Sequence[str]) -> "_MemoryQueue":
        rows = self._rows.setdefault(service, {})
        return _MemoryQueue(rows, frozenset(topics), self._clock, self._pace.visibility, str(next(self._numbers)))


class _MemoryQueue:
    """One service's rows, as one consumer sees them."""

    def __init__(
        self, rows: dict[int, _Row], topics: frozenset[str], clock: Clock, visibility: timedelta, owner: str
    ) -> None:
        self._rows = rows
        self._topics = topics
        self._clock = clock
        self._visibility = visibility
        self._owner = owner

    async def claim(self, limit: int) -> Claimed:
        now = self._clock.now()
        mine = [(number, row) for number, row in self._rows.items() if row.topic in self._topics]
        due = [(number, row) for number, row in mine if row.due_at is None or row.due_at <= now]
        due.sort(key=lambda pair: (pair[1].due_at is None, pair[0]))  # what was retried comes before what is fresh
        claims = [self._take(number, row, now) for number, row in due[:limit]]
        later = [row.due_at for _, row in mine if row.due_at is not None and row.due_at > now]
        return Claimed(claims, (min(later) - now).total_seconds() if later else None)

    async def claim_suspected(self) -> Claim | None:
        """Nothing here outlives its process: no message can have killed one."""
        return None

    def _take(self, number: int, row: _Row, now: datetime) -> Claim:
        row.attempts += 1
        row.claim = f"{self._owner}/{row.attempts}"
        row.due_at = now + self._visibility
        return Claim(row.claim, number, Delivery(row.topic, row.message, row.attempts))

    async def settle(self, claim: Claim, disposition: Disposition) -> bool:
        row = self._rows.get(claim.row)
        if row is None or row.claim != claim.token:
            return False
        if isinstance(disposition, Ack):
            del self._rows[claim.row]
            return True
        row.claim = None
        row.due_at = self._clock.now() + disposition.delay
        row.attempts -= 0 if disposition.counted else 1
        return True

    async def keep(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            row = self._rows.get(claim.row)
            if row is not None and row.claim == claim.token:
                row.due_at = self._clock.now() + self._visibility

    async def give_back(self) -> None:
        for row in self._rows.values():
            if row.claim is not None and row.claim.startswith(f"{self._owner}/"):
                row.claim, row.due_at = None, None
                row.attempts -= 1
