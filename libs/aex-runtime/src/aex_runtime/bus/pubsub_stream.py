"""A subscription's streaming pull, kept open until cancelled.

Not Google's own one: that ends a stream by cancelling it, and what the server had just put on its way then waits for
the ack deadline (measured on the emulator: 9 of 30 messages, 10 s); and while the server does not answer, its threads
do not end (measured: not in 45 s). This one says that it will send no more, and the server ends the stream.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any

import grpc
import structlog
from google.pubsub_v1.types import StreamingPullRequest, StreamingPullResponse

from aex_models.backoff import Backoff
from aex_runtime.bus.port import BusError
from aex_runtime.bus.pubsub_connection import PubSubConnection, Stream
from aex_runtime.bus.pubsub_topology import ACK_DEADLINE
from aex_runtime.bus.pubsub_window import Window
from aex_runtime.ids import Ids

Received = Any
"""A bare `ReceivedMessage`: ack_id, delivery_attempt and message {message_id, attributes, data}."""

_OUTAGE = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=5))
_HEARTBEAT_S = 30.0
_FAREWELL_S = 1.0
_WINDOW_BYTES = 64_000_000
_log = structlog.get_logger(__name__)


class StreamingPull:
    """Hands over what a subscription delivers, while it is run."""

    def __init__(
        self,
        connection: PubSubConnection,
        subscription: str,
        window: Window,
        take: Callable[[Sequence[Received]], None],
        ids: Ids,
        lifetime: timedelta,
    ) -> None:
        """`lifetime`: after which a stream is closed and opened anew, or earlier where the window was outgrown; its
        deadline is twice that.
        """
        self._connection = connection
        self._subscription = subscription
        self._window = window
        self._take = take
        self._ids = ids
        self._lifetime_s = lifetime.total_seconds()
        self._failures = 0

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
                self._failures = 0
            self._failures += 1
            delay_s = _OUTAGE.delay(self._failures, self._ids.jitter()).total_seconds()
            _log.warning("stream_reopened", subscription=self._subscription, reason=reason, retry_in_s=delay_s)
            await asyncio.sleep(delay_s)

    async def _pull(self) -> None:
        """Streams one after the other, until one breaks."""
        lived = True
        while lived:
            over, window = asyncio.Event(), self._window.open()
            requests = self._requests(over, window)
            call = await self._connection.stream(self._subscription, requests, 2 * self._lifetime_s)
            reading = asyncio.create_task(self._read(call))
            outgrown = asyncio.create_task(self._window.outgrown.wait())
            try:
                await asyncio.wait({reading, outgrown}, timeout=self._lifetime_s, return_when=asyncio.FIRST_COMPLETED)
                lived = not reading.done()
                if outgrown.done():
                    _log.info("window_outgrown", subscription=self._subscription, window=window)
            finally:
                outgrown.cancel()
                over.set()
                await asyncio.wait({reading}, timeout=_FAREWELL_S)
                call.cancel()
                await asyncio.wait({reading})
            if not reading.cancelled():
                reading.result()

    async def _read(self, call: Stream) -> None:
        try:
            async for response in call:
                self._failures = 0
                # The bare protocol buffers: their friendlier wrappers cost more than all the rest.
                self._take(StreamingPullResponse.pb(response).received_messages)
        except grpc.RpcError as error:
            raise self._connection.failure_of(self._subscription, error) from None

    async def _requests(self, over: asyncio.Event, window: int) -> AsyncIterator[StreamingPullRequest]:
        """What opens the stream, then signs of life; its end tells the server to end the stream."""
        yield StreamingPullRequest(
            subscription=self._subscription,
            stream_ack_deadline_seconds=int(ACK_DEADLINE.total_seconds()),
            max_outstanding_messages=window,
            max_outstanding_bytes=_WINDOW_BYTES,
        )
        while True:
            try:
                async with asyncio.timeout(_HEARTBEAT_S):
                    await over.wait()
            except TimeoutError:
                yield StreamingPullRequest()
            else:
                return
