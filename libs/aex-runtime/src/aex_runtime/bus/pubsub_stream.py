"""Streaming pulls of a subscription, their flow control and the acks.

Google's own streaming pull ends a stream by cancelling it. Messages in transit then wait for the ack deadline (on the
emulator 9 of 30 messages, for 10 s). Its threads do not end while the server does not answer (not in 45 s). The pull
here ends its side of the stream and waits until the server ends the other.
"""

import asyncio
import heapq
import math
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

import grpc
import structlog
from google.api_core.exceptions import from_grpc_error
from google.pubsub_v1 import types

from aex_models.backoff import Backoff
from aex_runtime.bus.port import BusError, BusUnavailable
from aex_runtime.bus.pubsub_connection import PubSubConnection, Stream, translate_error
from aex_runtime.bus.pubsub_topology import ACK_DEADLINE
from aex_runtime.ids import Ids
from aex_runtime.retry import Retries
from aex_runtime.yielding import wait_for_event

Received = Any
"""A plain `ReceivedMessage` of protobuf: ack_id, delivery_attempt and message {message_id, attributes, data}."""

_OUTAGE = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=5))
_HEARTBEAT_S = 30.0
_CLOSE_S = 1.0
_WINDOW_BYTES = 64_000_000
_MAX_WINDOW = 1_000
_HURRIED_S = 0.1
_MAX_IDS = 1_000
_log = structlog.get_logger(__name__)


class FlowControl:
    """The window of a stream: how many unacked messages the server may have delivered.

    The server stops at that number, whether messages are being handled or wait for a retry. So waiting messages must
    not fill the window. An open stream keeps its window; a larger one needs a new stream.
    """

    def __init__(self, work_limit: int, total_limit: int = _MAX_WINDOW) -> None:
        """`work_limit`: the most messages in handling. `total_limit`: the most in handling or waiting."""
        self._work_limit = work_limit
        self._total_limit = max(total_limit, work_limit)
        self._size = work_limit
        self._waiting: list[float] = []
        self.outgrown = asyncio.Event()
        """Set when waiting messages take over half of the work limit and a new stream would have a larger window."""

    def start_window_and_get_size(self) -> int:
        """Return the window for a new stream: the work limit plus the waiting messages, up to the total limit."""
        self.outgrown.clear()
        self._size = min(self._work_limit + self._count(), self._total_limit)
        return self._size

    def schedule_retry_and_get_due_at(self, due_at: float) -> float:
        """Register a failed message that waits until `due_at`; return when to retry it, on the loop's clock.

        If so many messages wait that the window has room for the work limit only, the message is retried at once. It
        then uses up its attempts sooner and does not block others.
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
    """Sends the acks of a subscription: one request at a time, with all acks that have gathered."""

    def __init__(self, connection: PubSubConnection, path: str, window: FlowControl) -> None:
        self.path = path
        self.window = window
        self.connection = connection
        self._to_ack: list[str] = []
        self._acking: asyncio.Task[None] | None = None

    def ack_soon(self, ack_ids: Iterable[str]) -> None:
        """Queue acks, which a background task sends soon. A lost ack causes another delivery."""
        self._to_ack.extend(ack_ids)
        if self._to_ack and (self._acking is None or self._acking.done()):
            self._acking = asyncio.create_task(self._ack_all())

    async def flush_acks(self, timeout_s: float) -> None:
        """Wait until all queued acks are sent; after `timeout_s` give up those that are left, with a log line."""
        if self._acking is not None:
            _, late = await asyncio.wait({self._acking}, timeout=timeout_s)
            for task in late:
                task.cancel()
                await asyncio.wait({task})
                _log.warning("acks_lost", subscription=self.path, reason="the consumer stopped")

    async def set_ack_deadline(self, ack_ids: Sequence[str], duration: timedelta, timeout_s: float) -> None:
        """Set the ack deadline of messages, with retries; 0 releases them at once. Raises `BusUnavailable`."""
        seconds = math.ceil(duration.total_seconds())
        for start in range(0, len(ack_ids), _MAX_IDS):
            some = ack_ids[start : start + _MAX_IDS]
            request = types.ModifyAckDeadlineRequest(subscription=self.path, ack_ids=some, ack_deadline_seconds=seconds)
            try:
                await self.connection.send_with_retries(
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
                await self.connection.send_with_retries(
                    self.path, lambda clients: clients.subscriber.acknowledge, request
                )
            except BusError as error:
                _log.warning("acks_lost", subscription=self.path, count=len(some), reason=str(error))


class StreamingPull:
    """Keeps a stream of a subscription open and passes its messages to `take`."""

    def __init__(
        self, subscription: Subscription, take: Callable[[Sequence[Received]], None], ids: Ids, lifetime: timedelta
    ) -> None:
        """`lifetime` is the time after which a stream is replaced; sooner if its window is outgrown.

        The deadline of a stream is twice `lifetime`.
        """
        self._subscription = subscription
        self._take = take
        self._lifetime_s = lifetime.total_seconds()
        self._retries = Retries(_OUTAGE, ids)

    async def run(self) -> None:
        """Pull messages until cancelled; after an error open another stream, after a growing wait."""
        now = asyncio.get_running_loop().time
        while True:
            opened_at, reason = now(), "ended by the server"
            try:
                await self._pull()
            except BusError as error:
                reason = str(error)
            if now() - opened_at >= _HEARTBEAT_S:
                self._retries.reset()
            await self._retries.count_failure_log_and_wait(
                "stream_reopened", reason, subscription=self._subscription.path
            )

    async def _pull(self) -> None:
        """Open one stream after another until one fails."""
        is_open = True
        while is_open:
            closing, window = asyncio.Event(), self._subscription.window.start_window_and_get_size()
            requests = self._requests(closing, window)
            call = await self._subscription.connection.open_stream(
                self._subscription.path, requests, 2 * self._lifetime_s
            )
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
            failure = from_grpc_error(error)  # type: ignore[no-untyped-call]
            self._subscription.connection.recreate_resources_on_next_call_if_lost(failure)
            raise translate_error(self._subscription.path, failure) from None

    async def _requests(self, closing: asyncio.Event, window: int) -> AsyncIterator[types.StreamingPullRequest]:
        """Yield the request that opens a stream, then heartbeats. When they end, the server ends the stream."""
        yield types.StreamingPullRequest(
            subscription=self._subscription.path,
            stream_ack_deadline_seconds=int(ACK_DEADLINE.total_seconds()),
            max_outstanding_messages=window,
            max_outstanding_bytes=_WINDOW_BYTES,
        )
        while not await wait_for_event(closing, _HEARTBEAT_S):
            yield types.StreamingPullRequest()
