"""The embedded bus: durable queues in SQLite, a file for each subscribing service, on one machine.

A file per subscriber, because writers of a file wait for each other. Publishers write into every subscriber's file
and wake its consumers by datagram; consumers also poll.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from uuid import uuid4

import structlog

from aex_models.events import TOPICS
from aex_runtime.bus import embedded_table
from aex_runtime.bus.consume_loop import ConsumeLoop, ConsumePolicy, LeaseBatch, LeasedMessage
from aex_runtime.bus.embedded_presence import ConsumerPresence, Waker
from aex_runtime.bus.embedded_writer import QueueWriter
from aex_runtime.bus.port import (
    Ack,
    BusUnavailable,
    Disposition,
    Outgoing,
    Receiver,
    check_subscription,
    route,
)
from aex_runtime.clock import Clock, WallClock, epoch_micros
from aex_runtime.ids import Ids, RandomIds

_PING_TIMEOUT_S = 3.0
_PRESENCE_CHECK_S = 0.9
_log = structlog.get_logger(__name__)


class EmbeddedBus:
    """A bus of queue files in a directory, which any number of processes may share."""

    def __init__(
        self, directory: Path, clock: Clock | None = None, ids: Ids | None = None, policy: ConsumePolicy | None = None
    ) -> None:
        """`policy.visibility` is for hung consumers; the messages of a dead one are released at once."""
        self._directory = directory
        self._clock = clock or WallClock()
        self._ids = ids or RandomIds()
        self._policy = policy or ConsumePolicy()
        self._files: dict[str, tuple[QueueWriter, Waker]] = {}
        self._closed = False

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        now = epoch_micros(self._clock.now())
        queues = route(TOPICS, messages)
        writers = [self._writer(service) for service in queues]
        inserts = [
            writer.run(partial(embedded_table.insert, messages=pairs, now=now), durable=True)
            for writer, pairs in zip(writers, queues.values(), strict=True)
        ]
        # Each is awaited even if one fails, so that none remains running.
        for result in await asyncio.gather(*inserts, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        check_subscription(TOPICS, service, topics)
        writer, wake = self._writer(service), asyncio.Event()
        folder = self._directory / f"{service}.consumers"
        try:
            presence = await ConsumerPresence.register(folder, uuid4().hex[:12], wake)
        except OSError as error:
            raise BusUnavailable(f"{folder}: {error}") from error
        queue = _ServiceQueue(writer, presence, topics, self._clock, self._policy.visibility)
        try:
            await ConsumeLoop(queue, receive, concurrency, self._policy, wake, self._ids).run()
        finally:
            presence.withdraw()

    async def backlog(self, service: str) -> int:
        """Return the number of messages that a service has not acked. Raises `BusUnavailable`."""
        return await self._writer(service).run(embedded_table.count, durable=False)

    async def oldest_unhandled_s(self, service: str) -> float:
        """See `ReportsQueueAge`."""
        since = await self._writer(service).run(embedded_table.oldest_enqueued_at, durable=False)
        return 0.0 if since is None else max(0.0, (epoch_micros(self._clock.now()) - since) / 1e6)

    async def ping(self) -> None:
        try:
            async with asyncio.timeout(_PING_TIMEOUT_S):
                if self._files and not await asyncio.to_thread(self._directory.is_dir):
                    raise BusUnavailable(f"{self._directory} is gone")
                subscriber = next(service for topic in TOPICS.values() for service in topic.subscribers)
                writers = [writer for writer, _ in self._files.values()] or [self._writer(subscriber)]
                await asyncio.gather(*(writer.run(lambda _: None, durable=False) for writer in writers))
        except TimeoutError:
            raise BusUnavailable(f"{self._directory} did not answer in {_PING_TIMEOUT_S} s") from None

    async def close(self) -> None:
        self._closed = True
        for writer, waker in self._files.values():
            await writer.close()
            waker.close()

    def _writer(self, service: str) -> QueueWriter:
        if self._closed:
            raise BusUnavailable(f"{self._directory} is closed")
        if service not in self._files:
            waker = Waker(self._directory / f"{service}.consumers")
            self._files[service] = QueueWriter(self._directory / f"{service}.sqlite3", waker), waker
        return self._files[service][0]


class _ServiceQueue:
    """A service's queue file, for one consumer."""

    def __init__(
        self, writer: QueueWriter, presence: ConsumerPresence, topics: Sequence[str], clock: Clock, lease: timedelta
    ) -> None:
        self._writer = writer
        self._presence = presence
        self._topics = tuple(topics)
        self._clock = clock
        self._lease = lease
        self._leases = 0
        self._next_check_s = 0.0

    async def lease(self, limit: int) -> LeaseBatch:
        await self._release_dead_consumers()
        token, now, until = self._new_lease()

        def work(connection: Connection) -> tuple[list[LeasedMessage], int | None, bool]:
            messages = embedded_table.lease(connection, self._topics, limit, token, now, until)
            next_at = embedded_table.next_visible(connection, self._topics, now) if len(messages) < limit else now
            return messages, next_at, embedded_table.has_suspects(connection, self._topics, now)

        messages, next_at, has_suspects = await self._writer.run(work, durable=False)
        next_in_s = None if next_at is None else (next_at - now) / 1e6
        return LeaseBatch(messages, next_in_s, has_suspects)

    async def lease_suspect(self) -> LeasedMessage | None:
        token, now, until = self._new_lease()
        work = partial(
            embedded_table.lease, topics=self._topics, limit=1, token=token, now=now, until=until, suspects=True
        )
        return next(iter(await self._writer.run(work, durable=False)), None)

    async def resolve(self, leased: LeasedMessage, disposition: Disposition) -> bool:
        def work(connection: Connection) -> bool:
            if isinstance(disposition, Ack):
                return embedded_table.remove(connection, leased.row, leased.token)
            visible_at = self._micros_after(disposition.delay)
            return embedded_table.requeue(connection, leased.row, leased.token, visible_at, disposition.counted)

        return await self._writer.run(work, durable=False)

    async def extend(self, messages: Sequence[LeasedMessage]) -> None:
        leases = [(leased.row, leased.token) for leased in messages]
        work = partial(embedded_table.extend, leases=leases, until=self._micros_after(self._lease))
        await self._writer.run(work, durable=False)

    async def release_all(self) -> None:
        work = partial(embedded_table.release, owner=self._presence.name, counted=False)
        await self._writer.run(work, durable=False)

    async def _release_dead_consumers(self) -> None:
        """Release the messages of dead consumers, once a second, before their visibility time-outs."""
        now_s = asyncio.get_running_loop().time()
        if now_s < self._next_check_s:
            return
        self._next_check_s = now_s + _PRESENCE_CHECK_S
        for name in self._presence.find_dead():
            released = await self._writer.run(partial(embedded_table.release, owner=name, counted=True), durable=False)
            self._presence.remove(name)
            _log.warning("dead_consumer_found", consumer=name, deliveries_freed=released)

    def _new_lease(self) -> tuple[str, int, int]:
        """Return a new token, the present time, and the end of a lease that begins now."""
        self._leases += 1
        return f"{self._presence.name}/{self._leases}", epoch_micros(self._clock.now()), self._micros_after(self._lease)

    def _micros_after(self, delay: timedelta) -> int:
        return epoch_micros(self._clock.now() + delay)
