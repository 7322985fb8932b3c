"""The embedded bus: durable queues in SQLite files, for processes on one machine.

Each subscribing service has a file of its own, because writers of one file wait for each other. A publisher writes into
the file of every subscriber and wakes its consumers by datagram. Consumers also poll.
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
    check_subscriptions,
    route_to_subscribers,
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
        """Create a bus that touches nothing before its first use.

        `policy.visibility` matters for hung consumers only: the messages of a dead process are released at once.
        """
        self._directory = directory
        self._clock = clock or WallClock()
        self._ids = ids or RandomIds()
        self._policy = policy or ConsumePolicy()
        self._files: dict[str, tuple[QueueWriter, Waker]] = {}
        self._closed = False

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        now = epoch_micros(self._clock.now())
        queues = route_to_subscribers(TOPICS, messages)
        writers = [self._writer(service) for service in queues]
        inserts = [
            writer.run_and_commit(partial(embedded_table.insert_messages, messages=pairs, now_micros=now), durable=True)
            for writer, pairs in zip(writers, queues.values(), strict=True)
        ]
        # Each is awaited even if one fails, so that none remains running.
        for result in await asyncio.gather(*inserts, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        check_subscriptions(TOPICS, service, topics)
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
            presence.unregister()

    async def count_unacked(self, service: str) -> int:
        """Return the number of a service's messages that are not acked. Raises `BusUnavailable`."""
        return await self._writer(service).run_and_commit(embedded_table.count_messages, durable=False)

    async def oldest_unacked_age_s(self, service: str) -> float:
        """Return the age of the oldest message that is not acked; see `ReportsQueueAge`."""
        since = await self._writer(service).run_and_commit(embedded_table.oldest_enqueued_at_micros, durable=False)
        return 0.0 if since is None else max(0.0, (epoch_micros(self._clock.now()) - since) / 1e6)

    async def ping(self) -> None:
        try:
            async with asyncio.timeout(_PING_TIMEOUT_S):
                if self._files and not await asyncio.to_thread(self._directory.is_dir):
                    raise BusUnavailable(f"{self._directory} is gone")
                subscriber = next(service for topic in TOPICS.values() for service in topic.subscribers)
                writers = [writer for writer, _ in self._files.values()] or [self._writer(subscriber)]
                await asyncio.gather(*(writer.run_and_commit(lambda _: None, durable=False) for writer in writers))
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
    """The queue file of a service, as one consumer sees it."""

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
            messages = embedded_table.lease_messages(connection, self._topics, limit, token, now, until)
            next_at = (
                embedded_table.next_visible_at_micros(connection, self._topics, now) if len(messages) < limit else now
            )
            return messages, next_at, embedded_table.has_visible_suspects(connection, self._topics, now)

        messages, next_at, has_suspects = await self._writer.run_and_commit(work, durable=False)
        next_in_s = None if next_at is None else (next_at - now) / 1e6
        return LeaseBatch(messages, next_in_s, has_suspects)

    async def lease_suspect(self) -> LeasedMessage | None:
        token, now, until = self._new_lease()
        work = partial(
            embedded_table.lease_messages,
            topics=self._topics,
            limit=1,
            token=token,
            now_micros=now,
            until_micros=until,
            only_suspects=True,
        )
        return next(iter(await self._writer.run_and_commit(work, durable=False)), None)

    async def resolve(self, leased: LeasedMessage, disposition: Disposition) -> bool:
        def work(connection: Connection) -> bool:
            if isinstance(disposition, Ack):
                return embedded_table.delete_leased(connection, leased.row, leased.token)
            visible_at = self._micros_after(disposition.delay)
            return embedded_table.requeue(connection, leased.row, leased.token, visible_at, disposition.counted)

        return await self._writer.run_and_commit(work, durable=False)

    async def extend(self, messages: Sequence[LeasedMessage]) -> None:
        leases = [(leased.row, leased.token) for leased in messages]
        work = partial(embedded_table.extend_leases, leases=leases, until_micros=self._micros_after(self._lease))
        await self._writer.run_and_commit(work, durable=False)

    async def release_all(self) -> None:
        work = partial(embedded_table.release_leases_of_owner, owner=self._presence.name, counted=False)
        await self._writer.run_and_commit(work, durable=False)

    async def _release_dead_consumers(self) -> None:
        """Release the messages of dead consumers; does nothing if called again within a second."""
        now_s = asyncio.get_running_loop().time()
        if now_s < self._next_check_s:
            return
        self._next_check_s = now_s + _PRESENCE_CHECK_S
        for name in self._presence.find_dead_consumers():
            released = await self._writer.run_and_commit(
                partial(embedded_table.release_leases_of_owner, owner=name, counted=True), durable=False
            )
            self._presence.remove_dead_consumer(name)
            _log.warning("dead_consumer_found", consumer=name, deliveries_freed=released)

    def _new_lease(self) -> tuple[str, int, int]:
        """Return a new token, the present time, and the end of a lease from now; times in microseconds."""
        self._leases += 1
        return f"{self._presence.name}/{self._leases}", epoch_micros(self._clock.now()), self._micros_after(self._lease)

    def _micros_after(self, delay: timedelta) -> int:
        return epoch_micros(self._clock.now() + delay)
