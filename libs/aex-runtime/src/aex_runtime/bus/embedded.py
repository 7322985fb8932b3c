"""The embedded bus: durable queues in SQLite, one file for each subscribing service, on one machine.

One file per subscriber because writers of one file wait for each other. Publishers write into every subscriber's
file and wake its consumers by datagram; a slow poll stands behind.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from uuid import uuid4

import structlog

from aex_models.events import TOPICS, Topic
from aex_runtime.bus.consumption import Claim, Claimed, Consumption, Pace
from aex_runtime.bus.port import Ack, BusUnavailable, Delivery, Disposition, Message, Outgoing, Receiver
from aex_runtime.bus.queue import table
from aex_runtime.bus.queue.presence import Presence, Waker
from aex_runtime.bus.queue.writer import QueueWriter
from aex_runtime.bus.topology import check_subscription, route
from aex_runtime.clock import Clock, WallClock, epoch_micros
from aex_runtime.ids import Ids, RandomIds

_PING_TIMEOUT_S = 3.0
_CENSUS_EVERY_S = 0.9
_log = structlog.get_logger(__name__)


class EmbeddedBus:
    """Publishes into, and consumes from, the queue files of a directory. Any number of processes may share it."""

    def __init__(
        self,
        directory: Path,
        clock: Clock | None = None,
        ids: Ids | None = None,
        topics: Mapping[str, Topic] = TOPICS,
        pace: Pace | None = None,
    ) -> None:
        """`pace.visibility`: after how long a message of a hung consumer comes again; a dead one's comes at once."""
        self._directory = directory
        self._clock = clock or WallClock()
        self._ids = ids or RandomIds()
        self._topics = topics
        self._pace = pace or Pace()
        self._files: dict[str, tuple[QueueWriter, Waker]] = {}
        self._closed = False

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        now = epoch_micros(self._clock.now())
        queues = route(self._topics, messages)
        writers = [self._writer(service) for service in queues]
        inserts = [
            writer.run(partial(table.insert, messages=_rows(pairs), now=now), durable=True)
            for writer, pairs in zip(writers, queues.values(), strict=True)
        ]
        # Each is awaited even where one fails, so that none is left running unseen.
        for result in await asyncio.gather(*inserts, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        check_subscription(self._topics, service, topics)
        writer, wake = self._writer(service), asyncio.Event()
        folder = self._directory / f"{service}.consumers"
        try:
            presence = await Presence.announce(folder, uuid4().hex[:12], wake)
        except OSError as error:
            raise BusUnavailable(f"{folder}: {error}") from error
        queue = _ServiceQueue(writer, presence, topics, self._clock, self._pace.visibility)
        try:
            await Consumption(queue, receive, concurrency, self._pace, wake, self._ids).run()
        finally:
            presence.withdraw()

    async def backlog(self, service: str) -> int:
        """How many messages a service has not acked yet. Raises `BusUnavailable`."""
        return await self._writer(service).run(table.count, durable=False)

    async def oldest_unhandled_s(self, service: str) -> float:
        """See `TellsQueueAge`."""
        since = await self._writer(service).run(table.oldest, durable=False)
        return 0.0 if since is None else max(0.0, (epoch_micros(self._clock.now()) - since) / 1e6)

    async def ping(self) -> None:
        try:
            async with asyncio.timeout(_PING_TIMEOUT_S):
                if self._files and not await asyncio.to_thread(self._directory.is_dir):
                    raise BusUnavailable(f"{self._directory} is gone")
                writers = [writer for writer, _ in self._files.values()] or [self._writer(self._any_subscriber())]
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

    def _any_subscriber(self) -> str:
        return next(service for topic in self._topics.values() for service in topic.subscribers)


class _ServiceQueue:
    """One service's queue file, as one consumer sees it."""

    def __init__(
        self, writer: QueueWriter, presence: Presence, topics: Sequence[str], clock: Clock, visibility: timedelta
    ) -> None:
        self._writer = writer
        self._presence = presence
        self._topics = tuple(topics)
        self._clock = clock
        self._visibility = visibility
        self._claims = 0
        self._next_census_s = 0.0

    async def claim(self, limit: int) -> Claimed:
        await self._free_the_dead()
        self._claims += 1
        token = f"{self._presence.name}/{self._claims}"
        now = epoch_micros(self._clock.now())
        until = self._after(self._visibility)

        def work(connection: Connection) -> tuple[list[table.Row], int | None, bool]:
            rows = table.claim(connection, self._topics, limit, token, now, until)
            upcoming = table.next_visible(connection, self._topics, now) if len(rows) < limit else now
            return rows, upcoming, table.has_suspected(connection, self._topics, now)

        rows, upcoming, suspected = await self._writer.run(work, durable=False)
        next_in_s = None if upcoming is None else (upcoming - now) / 1e6
        return Claimed([_claim_of(row) for row in rows], next_in_s, suspected)

    async def claim_suspected(self) -> Claim | None:
        self._claims += 1
        token, now = f"{self._presence.name}/{self._claims}", epoch_micros(self._clock.now())
        until = self._after(self._visibility)
        work = partial(table.claim, topics=self._topics, limit=1, token=token, now=now, until=until, suspected=True)
        return next((_claim_of(row) for row in await self._writer.run(work, durable=False)), None)

    async def settle(self, claim: Claim, disposition: Disposition) -> bool:
        if isinstance(disposition, Ack):
            work = partial(table.remove, number=claim.row, token=claim.token)
        else:
            visible_at = self._after(disposition.delay)
            work = partial(
                table.put_back,
                number=claim.row,
                token=claim.token,
                visible_at=visible_at,
                counted=disposition.counted,
            )
        return await self._writer.run(work, durable=False)

    async def keep(self, claims: Sequence[Claim]) -> None:
        held = [(claim.row, claim.token) for claim in claims]
        await self._writer.run(partial(table.extend, held=held, until=self._after(self._visibility)), durable=False)

    async def give_back(self) -> None:
        work = partial(table.free, owner=self._presence.name, counted=False)
        await self._writer.run(work, durable=False)

    async def _free_the_dead(self) -> None:
        """Once a second, free what dead consumers held: nobody need wait for their visibility time-outs."""
        now_s = asyncio.get_running_loop().time()
        if now_s < self._next_census_s:
            return
        self._next_census_s = now_s + _CENSUS_EVERY_S
        for name in self._presence.dead():
            freed = await self._writer.run(partial(table.free, owner=name, counted=True), durable=False)
            self._presence.forget(name)
            _log.warning("dead_consumer_found", consumer=name, deliveries_freed=freed)

    def _after(self, delay: timedelta) -> int:
        return epoch_micros(self._clock.now() + delay)


def _claim_of(row: table.Row) -> Claim:
    return Claim(row.token, row.number, Delivery(row.topic, row.message(), row.attempts, row.died))


def _rows(pairs: Sequence[tuple[str, Message]]) -> list[tuple[str, str, bytes]]:
    return [(topic, json.dumps(message.attributes), message.data) for topic, message in pairs]
