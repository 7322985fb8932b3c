"""An event bus in memory, for the simulator and tests. Its queues have no limit."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

from aex_models.events import TOPICS
from aex_runtime.bus.consume_loop import ConsumeLoop, ConsumePolicy, LeaseBatch, LeasedMessage
from aex_runtime.bus.port import (
    Ack,
    Delivery,
    Disposition,
    Message,
    Outgoing,
    Receiver,
    check_subscriptions,
    route_to_subscribers,
)
from aex_runtime.clock import Clock, WallClock
from aex_runtime.ids import Ids, RandomIds


@dataclass(slots=True)
class _Row:
    topic: str
    message: Message
    due_at: datetime | None = None
    attempts: int = 0
    token: str | None = None


class MemoryBus:
    """A bus whose queues are dictionaries, one for each subscribing service."""

    def __init__(self, clock: Clock | None = None, ids: Ids | None = None, policy: ConsumePolicy | None = None) -> None:
        self._clock = clock or WallClock()
        self._ids = ids or RandomIds()
        self._policy = policy or ConsumePolicy()
        self._rows: dict[str, dict[int, _Row]] = {}
        self._wakes: dict[str, set[asyncio.Event]] = {}
        self._numbers = count(1)

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        for service, pairs in route_to_subscribers(TOPICS, messages).items():
            for topic, message in pairs:
                self._rows.setdefault(service, {})[next(self._numbers)] = _Row(topic, message)
            for wake in self._wakes.get(service, ()):
                wake.set()

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        check_subscriptions(TOPICS, service, topics)
        rows, owner, wake = self._rows.setdefault(service, {}), str(next(self._numbers)), asyncio.Event()
        queue = _MemoryQueue(rows, frozenset(topics), self._clock, self._policy.visibility, owner)
        self._wakes.setdefault(service, set()).add(wake)
        try:
            await ConsumeLoop(queue, receive, concurrency, self._policy, wake, self._ids).run()
        finally:
            self._wakes[service].discard(wake)

    async def count_unacked(self, service: str) -> int:
        """Return the number of a service's messages that are not acked."""
        return len(self._rows.get(service, ()))

    async def ping(self) -> None:
        return None

    async def close(self) -> None:
        return None


class _MemoryQueue:
    """The queue of a service, as one consumer sees it."""

    def __init__(
        self, rows: dict[int, _Row], topics: frozenset[str], clock: Clock, visibility: timedelta, owner: str
    ) -> None:
        self._rows = rows
        self._topics = topics
        self._clock = clock
        self._visibility = visibility
        self._owner = owner

    async def lease(self, limit: int) -> LeaseBatch:
        now = self._clock.now()
        rows = [(number, row) for number, row in self._rows.items() if row.topic in self._topics]
        due = [(number, row) for number, row in rows if row.due_at is None or row.due_at <= now]
        due.sort(key=lambda pair: (pair[1].due_at is None, pair[0]))  # retries come before new messages
        leased = [self._lease_row(number, row, now) for number, row in due[:limit]]
        later = [row.due_at for _, row in rows if row.due_at is not None and row.due_at > now]
        return LeaseBatch(leased, (min(later) - now).total_seconds() if later else None)

    async def lease_suspect(self) -> LeasedMessage | None:
        """Return None: this queue ends with its process, so that no message can have killed an earlier one."""
        return None

    def _lease_row(self, number: int, row: _Row, now: datetime) -> LeasedMessage:
        row.attempts += 1
        row.token = f"{self._owner}/{row.attempts}"
        row.due_at = now + self._visibility
        return LeasedMessage(row.token, number, Delivery(row.topic, row.message, row.attempts))

    async def resolve(self, leased: LeasedMessage, disposition: Disposition) -> bool:
        row = self._rows.get(leased.row)
        if row is None or row.token != leased.token:
            return False
        if isinstance(disposition, Ack):
            del self._rows[leased.row]
            return True
        row.token = None
        row.due_at = self._clock.now() + disposition.delay
        row.attempts -= 0 if disposition.counted else 1
        return True

    async def extend(self, messages: Sequence[LeasedMessage]) -> None:
        for leased in messages:
            row = self._rows.get(leased.row)
            if row is not None and row.token == leased.token:
                row.due_at = self._clock.now() + self._visibility

    async def release_all(self) -> None:
        for row in self._rows.values():
            if row.token is not None and row.token.startswith(f"{self._owner}/"):
                row.token, row.due_at = None, None
                row.attempts -= 1
