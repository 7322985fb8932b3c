"""The one connection of a bus to Pub/Sub: deadlines, retries, and Google's errors in our words."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import google.auth
import google.auth.exceptions
import grpc
import structlog
from google.api_core.exceptions import GoogleAPICallError, from_grpc_error
from google.pubsub_v1 import PublisherAsyncClient, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports.grpc_asyncio import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports.grpc_asyncio import SubscriberGrpcAsyncIOTransport
from google.pubsub_v1.types import StreamingPullRequest, StreamingPullResponse

from aex_models.backoff import Backoff
from aex_models.events import Topic
from aex_runtime.bus.port import BusError, BusUnavailable
from aex_runtime.bus.pubsub_emulator import create_missing
from aex_runtime.ids import Ids

T = TypeVar("T")
Stream = grpc.aio.StreamStreamCall[StreamingPullRequest, StreamingPullResponse]

_RETRY = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=2))
_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)
_KEEPALIVE = (
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),  # what really ends the wait
)
"""Not for an emulator: it takes so many pings for an attack."""

_TRANSIENT = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
}
_AFTER_A_RESTART = {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE}
_FIXES = {
    grpc.StatusCode.NOT_FOUND: "not there; create the topics and subscriptions of this release in the project",
    grpc.StatusCode.PERMISSION_DENIED: "not allowed; grant the service's account the Pub/Sub roles it needs on it",
    grpc.StatusCode.UNAUTHENTICATED: "the credentials are not accepted; run the service under an account of its own",
}
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Clients:
    """One channel, and the two halves of the API on it."""

    channel: grpc.aio.Channel
    publisher: PublisherAsyncClient
    subscriber: SubscriberAsyncClient


class PubSubConnection:
    """Makes calls. Opened at the first; on an emulator that one also creates what is missing there."""

    def __init__(
        self, project: str, emulator: str | None, topics: Mapping[str, Topic], ids: Ids, deadline_s: float
    ) -> None:
        """`deadline_s`: of a call with all its retries, where the call names no other."""
        self.project = project
        self._emulator = emulator
        self._topics = topics
        self._ids = ids
        self._deadline_s = deadline_s
        self._opening = asyncio.Lock()
        self._clients: Clients | None = None
        self._complete = emulator is None
        self._closed = False

    async def call(
        self, what: str, rpc: Callable[[Clients, float], Awaitable[T]], deadline_s: float | None = None
    ) -> T:
        """What `rpc` returns, given the clients and its time-out. Raises `BusUnavailable`, and `BusError` where the
        request itself is at fault; `what` names the call in their messages.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + (self._deadline_s if deadline_s is None else deadline_s)
        failures = 0
        while True:
            try:
                return await self._once(what, rpc, until)
            except GoogleAPICallError as error:
                failures += 1
                failure = self.failure_of(what, error)
                delay_s = _RETRY.delay(failures, self._ids.jitter()).total_seconds()
                if not self._passes(error) or loop.time() + delay_s >= until:
                    raise failure from None
            _log.warning("bus_call_retried", reason=str(failure), failures=failures, retry_in_s=delay_s)
            await asyncio.sleep(delay_s)

    async def stream(
        self, subscription: str, requests: AsyncIterator[StreamingPullRequest], lifetime_s: float
    ) -> Stream:
        """Open a streaming pull. Raises `BusUnavailable`; what reading from it raises is for `failure_of`."""

        async def pull(clients: Clients, _: float) -> Stream:
            # Not through the client: that returns the call only once it is connected, too late for one that must stop.
            streaming_pull: Any = clients.subscriber.transport.streaming_pull
            routing = (("x-goog-request-params", f"subscription={subscription}"),)
            opened: Stream = streaming_pull(requests, timeout=lifetime_s, metadata=routing)
            return opened

        return await self.call(subscription, pull)

    def failure_of(self, what: str, error: GoogleAPICallError | grpc.RpcError) -> BusError:
        """What an error of Google's means, without the server's own text.

        Only what the request itself is to blame for is no outage: a publisher must keep its events while a topic or
        a permission is missing.
        """
        if isinstance(error, grpc.RpcError):
            return self.failure_of(what, from_grpc_error(error))  # type: ignore[no-untyped-call]
        code: grpc.StatusCode | None = error.grpc_status_code
        if code in _AFTER_A_RESTART and self._emulator is not None:
            # It may be empty now. A topic that another process has just made has perhaps no subscriptions yet: what
            # is published there first would reach nobody.
            self._complete = False
        if code is grpc.StatusCode.INVALID_ARGUMENT:
            return BusError(f"{what}: Pub/Sub refuses the request as invalid")
        if code is None:
            return BusUnavailable(f"{what}: {type(error).__name__}")
        return BusUnavailable(f"{what}: {_FIXES.get(code, code.name)}")

    async def close(self) -> None:
        """Close the channel. Calls under way end with `BusUnavailable`."""
        self._closed = True
        async with self._opening:
            clients, self._clients = self._clients, None
        if clients is not None:
            await clients.channel.close()

    def check_open(self) -> None:
        """Raise `BusUnavailable` once closed."""
        if self._closed:
            raise BusUnavailable(f"the bus of project {self.project} is closed")

    async def _once(self, what: str, rpc: Callable[[Clients, float], Awaitable[T]], until: float) -> T:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(until):
                clients = await self._ready(until)
                return await rpc(clients, max(until - loop.time(), 0.001))
        except TimeoutError:
            raise BusUnavailable(f"{what}: no answer in time") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                self.check_open()  # closing the channel cancels its calls, but nobody cancelled this task
            raise

    async def _ready(self, until: float) -> Clients:
        self.check_open()
        if self._clients is not None and self._complete:
            return self._clients
        async with self._opening:
            self.check_open()
            if self._clients is None:
                self._clients = _clients(await self._channel())
            if not self._complete:
                clients, timeout_s = self._clients, max(until - asyncio.get_running_loop().time(), 0.001)
                await create_missing(self.project, self._topics, clients.publisher, clients.subscriber, timeout_s)
                self._complete = True
            return self._clients

    async def _channel(self) -> grpc.aio.Channel:
        if self._emulator is not None:
            return grpc.aio.insecure_channel(self._emulator, options=_OPTIONS)
        transport = PublisherGrpcAsyncIOTransport
        try:  # in a thread: it reads files and asks the metadata server
            credentials, _ = await asyncio.to_thread(google.auth.default, scopes=transport.AUTH_SCOPES)
        except google.auth.exceptions.GoogleAuthError as error:
            raise BusUnavailable(
                f"no credentials for Pub/Sub ({type(error).__name__}): run the service under an account of its own, or"
                " `gcloud auth application-default login`"
            ) from None
        channel: grpc.aio.Channel = transport.create_channel(credentials=credentials, options=(*_OPTIONS, *_KEEPALIVE))
        return channel

    def _passes(self, error: GoogleAPICallError) -> bool:
        """Whether the same call may succeed in a moment."""
        return error.grpc_status_code in _TRANSIENT or not self._complete


def _clients(channel: grpc.aio.Channel) -> Clients:
    publisher = PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))
    subscriber = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
    return Clients(channel, publisher, subscriber)
