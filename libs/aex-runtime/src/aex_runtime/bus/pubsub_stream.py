"""A subscription's streaming pull, its flow control and its acks.

Google's own streaming pull ends a stream by cancelling it. Messages in transit then wait for the ack deadline
(measured on the emulator: 9 of 30 messages, 10 s). While the server does not answer, its threads do not end
(measured: not in 45 s). This pull ends its side of the stream, and the server ends the stream.
"""

import asyncio
import heapq
import math
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

import grpc
import structlog
from google.pubsub_v1 import types

from aex_models.backoff import Backoff
from aex_runtime.bus.port import BusError, BusUnavailable
from aex_runtime.bus.pubsub_connection import PubSubConnection, Stream
from aex_runtime.bus.pubsub_topology import ACK_DEADLINE
from aex_runtime.ids import Ids
from aex_runtime.retry import Retries
from aex_runtime.yielding import wait_for_event

Received = Any
"""A plain `ReceivedMessage`: ack_id, delivery_attempt and message {message_id, attributes, data}."""

_OUTAGE = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=5))
_HEARTBEAT_S = 30.0
_CLOSE_S = 1.0
_WINDOW_BYTES = 64_000_000
_MAX_WINDOW = 1_000
_HURRIED_S = 0.1
_MAX_IDS = 1_000
_log = structlog.get_logger(__name__)


class FlowControl:
    """The window of a stream: messages in work, and failed messages that wait for their retry.

    The server delivers no more while as many messages as the window are unanswered. It does not distinguish the two
    kinds, so waiting messages would block all others. Only a new stream has a new window.
    """

    def __init__(self, work_limit: int, total_limit: int = _MAX_WINDOW) -> None:
        """`work_limit`: of messages in work. `total_limit`: of both kinds, at least the work limit."""
        self._work_limit = work_limit
        self._total_limit = max(total_limit, work_limit)
        self._size = work_limit
        self._waiting: list[float] = []
        self.outgrown = asyncio.Event()
        """Set if waiting messages leave less than half of the work limit, and a new stream would have more."""

    def open(self) -> int:
        """Return the window of a new stream."""
        self.outgrown.clear()
        self._size = min(self._work_limit + self._count(), self._total_limit)
        return self._size

    def wait_until(self, due_at: float) -> float:
        """Count a failed message that waits; return the time of its retry, on the event loop's clock.

        If only the work limit remains, the retry is immediate: the message must not block others, and sooner uses up
        its attempts.
        """
        if self._total_limit > self._work_limit and self._count() >= self._total_limit - self._work_limit:
            due_at = min(due_at, asyncio.get_running_loop().time() + _HURRIED_S)
        heapq.heappush(self._waiting, due_at)
        if self._size < self._total_limit and self._size - self._count() < self._work_limit / 2:
            self.outgrown.set()
        return due_at

    def _count(self) -> int:
        now = asyncio.get_running_loop().time()
        while self._waiting and self._waiting[0] <= now:
            heapq.heappop(self._waiting)
        return len(self._waiting)


class Subscription:
    """The acks of a subscription: one request at a time, each with all acks that wait."""

    def __init__(self, connection: PubSubConnection, path: str, window: FlowControl) -> None:
        self.path = path
        self.window = window
        self.connection = connection
        self._to_ack: list[str] = []
        self._acking: asyncio.Task[None] | None = None

    def ack(self, ack_ids: Iterable[str]) -> None:
        """Ack messages soon. A lost ack causes another delivery."""
        self._to_ack.extend(ack_ids)
        if self._to_ack and (self._acking is None or self._acking.done()):
            self._acking = asyncio.create_task(self._ack_all())

    async def flush_acks(self, timeout_s: float) -> None:
        """Wait until all acks are sent; after the time-out the others are lost."""
        if self._acking is not None:
            _, late = await asyncio.wait({self._acking}, timeout=timeout_s)
            for task in late:
                task.cancel()
                await asyncio.wait({task})
                _log.warning("acks_lost", subscription=self.path, reason="the consumer stopped")

    async def set_deadline(self, ack_ids: Sequence[str], duration: timedelta, timeout_s: float) -> None:
        """Set the ack deadline of messages; 0 releases them at once. Raises `BusUnavailable`."""
        seconds = math.ceil(duration.total_seconds())
        for start in range(0, len(ack_ids), _MAX_IDS):
            some = ack_ids[start : start + _MAX_IDS]
            request = types.ModifyAckDeadlineRequest(subscription=self.path, ack_ids=some, ack_deadline_seconds=seconds)
            try:
                await self.connection.send(
                    self.path, lambda clients: clients.subscriber.modify_ack_deadline, request, timeout_s
                )
            except BusUnavailable:
                raise
            except BusError as error:  # no fault of a message
                raise BusUnavailable(str(error)) from error

    async def _ack_all(self) -> None:
        while self._to_ack:
            some, self._to_ack = self._to_ack[:_MAX_IDS], self._to_ack[_MAX_IDS:]
            request = types.AcknowledgeRequest(subscription=self.path, ack_ids=some)
            try:
                await self.connection.send(self.path, lambda clients: clients.subscriber.acknowledge, request)
            except BusError as error:
                _log.warning("acks_lost", subscription=self.path, count=len(some), reason=str(error))


class StreamingPull:
    """A subscription's stream, opened again until cancelled, whose messages go to `take`."""

    def __init__(
        self, subscription: Subscription, take: Callable[[Sequence[Received]], None], ids: Ids, lifetime: timedelta
    ) -> None:
        """`lifetime`: of a stream, unless its window is outgrown; its deadline is twice that."""
        self._subscription = subscription
        self._take = take
        self._lifetime_s = lifetime.total_seconds()
        self._retries = Retries(_OUTAGE, ids)

    async def run(self) -> None:
        """Pull until cancelled; outages are waited out."""
        now = asyncio.get_running_loop().time
        while True:
            opened_at, reason = now(), "ended by the server"
            try:
                await self._pull()
            except BusError as error:
                reason = str(error)
            if now() - opened_at >= _HEARTBEAT_S:
                self._retries.reset()
            await self._retries.log_and_wait("stream_reopened", reason, subscription=self._subscription.path)

    async def _pull(self) -> None:
        """Open one stream after the other until one fails."""
        is_open = True
        while is_open:
            closing, window = asyncio.Event(), self._subscription.window.open()
            requests = self._requests(closing, window)
            call = await self._subscription.connection.stream(self._subscription.path, requests, 2 * self._lifetime_s)
            reading = asyncio.create_task(self._read(call))
            outgrown = asyncio.create_task(self._subscription.window.outgrown.wait())
            try:
                await asyncio.wait({reading, outgrown}, timeout=self._lifetime_s, return_when=asyncio.FIRST_COMPLETED)
                is_open = not reading.done()
                if outgrown.done():
                    _log.info("flow_control_window_raised", subscription=self._subscription.path, window=window)
            finally:
                outgrown.cancel()
                closing.set()
                await asyncio.wait({reading}, timeout=_CLOSE_S)
                call.cancel()
                await asyncio.wait({reading})
            if not reading.cancelled():
                reading.result()

    async def _read(self, call: Stream) -> None:
        try:
            async for response in call:
                self._retries.reset()
                # Plain protobuf classes: Google's wrappers cost more than the rest.
                self._take(types.StreamingPullResponse.pb(response).received_messages)
        except grpc.RpcError as error:
            raise self._subscription.connection.translate_error(self._subscription.path, error) from None

    async def _requests(self, closing: asyncio.Event, window: int) -> AsyncIterator[types.StreamingPullRequest]:
        """Yield the opening request, then heartbeats; at its end the server ends the stream."""
        yield types.StreamingPullRequest(
            subscription=self._subscription.path,
            stream_ack_deadline_seconds=int(ACK_DEADLINE.total_seconds()),
            max_outstanding_messages=window,
            max_outstanding_bytes=_WINDOW_BYTES,
        )
        while not await wait_for_event(closing, _HEARTBEAT_S):
            yield types.StreamingPullRequest()
