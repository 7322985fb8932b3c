"""The connection to Pub/Sub or its emulator, with deadlines, retries and translated errors."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import google.auth
import google.auth.exceptions
import grpc
import structlog
from google.api_core.exceptions import GoogleAPICallError
from google.pubsub_v1 import PublisherAsyncClient, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports.grpc_asyncio import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports.grpc_asyncio import SubscriberGrpcAsyncIOTransport
from google.pubsub_v1.types import StreamingPullRequest, StreamingPullResponse

from aex_models.backoff import Backoff
from aex_models.events import Topic
from aex_runtime.bus.port import BusError, BusUnavailable
from aex_runtime.bus.pubsub_topology import create_missing_resources
from aex_runtime.ids import Ids
from aex_runtime.retry import Retries

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
    ("grpc.http2.ping_timeout_ms", 5_000),  # ends the wait
)
"""Options for Google's server only: an emulator treats so many pings as an attack."""

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
    """A channel, and the clients for publishing and subscribing over it."""

    channel: grpc.aio.Channel
    publisher: PublisherAsyncClient
    subscriber: SubscriberAsyncClient


def translate_error(resource: str, error: GoogleAPICallError) -> BusError:
    """Return the bus's error for one of Google, without the server's text.

    Only an invalid request is a `BusError`. All others are outages, so that a publisher keeps its events while a topic
    or a permission is missing.
    """
    code: grpc.StatusCode | None = error.grpc_status_code
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        return BusError(f"{resource}: Pub/Sub refuses the request as invalid")
    if code is None:
        return BusUnavailable(f"{resource}: {type(error).__name__}")
    return BusUnavailable(f"{resource}: {_FIXES.get(code, code.name)}")


class PubSubConnection:
    """Calls to Pub/Sub with retries. The first call opens the channel.

    On an emulator it also creates missing topics and subscriptions.
    """

    def __init__(
        self, project: str, emulator: str | None, topics: Mapping[str, Topic], ids: Ids, deadline_s: float
    ) -> None:
        """Create a connection to a project. `deadline_s` is the default bound of a call with its retries."""
        self.project = project
        self._emulator = emulator
        self._topics = topics
        self._ids = ids
        self._deadline_s = deadline_s
        self._opening = asyncio.Lock()
        self._clients: Clients | None = None
        self._complete = emulator is None
        self._closed = False

    async def call_with_retries(
        self, resource: str, rpc: Callable[[Clients, float], Awaitable[T]], deadline_s: float | None = None
    ) -> T:
        """Call `rpc`, again after each temporary failure until the deadline, and return its result.

        `rpc` gets the clients and the remaining time in seconds. Raises `BusUnavailable`, or `BusError` for an invalid
        request; their texts name `resource`.
        """
        end = asyncio.get_running_loop().time() + (self._deadline_s if deadline_s is None else deadline_s)

        def retry_reason(error: Exception) -> str | None:
            if not isinstance(error, GoogleAPICallError):
                return None
            failure = translate_error(resource, error)
            return str(failure) if error.grpc_status_code in _TRANSIENT or not self._complete else None

        attempt = partial(self._try, resource, rpc, end)
        try:
            return await Retries(_RETRY, self._ids).call_with_retries(
                "bus_call_retried", attempt, retry_reason, end_s=end
            )
        except GoogleAPICallError as error:
            raise translate_error(resource, error) from None

    async def send_with_retries(
        self,
        resource: str,
        method: Callable[[Clients], Callable[..., Awaitable[T]]],
        request: Any,
        deadline_s: float | None = None,
    ) -> T:
        """Send a request by a method of a client and return the response.

        Retries and raises as `call_with_retries` does.
        """
        return await self.call_with_retries(
            resource, lambda clients, timeout_s: method(clients)(request, retry=None, timeout=timeout_s), deadline_s
        )

    async def open_stream(
        self, subscription: str, requests: AsyncIterator[StreamingPullRequest], lifetime_s: float
    ) -> Stream:
        """Open a streaming pull, with retries. Raises `BusUnavailable`.

        The stream ends after `lifetime_s`. Pass errors of reading it to `recreate_resources_on_next_call_if_lost`.
        """

        async def pull(clients: Clients, _: float) -> Stream:
            # The client would return the call only once it is connected: too late for a consumer that must stop.
            streaming_pull: Any = clients.subscriber.transport.streaming_pull
            routing = (("x-goog-request-params", f"subscription={subscription}"),)
            opened: Stream = streaming_pull(requests, timeout=lifetime_s, metadata=routing)
            return opened

        return await self.call_with_retries(subscription, pull)

    def recreate_resources_on_next_call_if_lost(self, error: GoogleAPICallError) -> None:
        """Make the next call create missing topics and subscriptions, if an emulator may have lost them."""
        if error.grpc_status_code in _AFTER_A_RESTART and self._emulator is not None:
            # The emulator may be empty, or another process may have created a topic without its subscriptions yet: a
            # message published there would reach no subscriber.
            self._complete = False

    async def close(self) -> None:
        """Close the channel. Running calls raise `BusUnavailable`."""
        self._closed = True
        async with self._opening:
            clients, self._clients = self._clients, None
        if clients is not None:
            await clients.channel.close()

    def check_open(self) -> None:
        """Raise `BusUnavailable` if the connection was closed."""
        if self._closed:
            raise BusUnavailable(f"the bus of project {self.project} is closed")

    async def _try(self, resource: str, rpc: Callable[[Clients, float], Awaitable[T]], end: float) -> T:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(end):
                clients = await self._open_clients(end)
                return await rpc(clients, max(end - loop.time(), 0.001))
        except GoogleAPICallError as error:
            self.recreate_resources_on_next_call_if_lost(error)
            raise
        except TimeoutError:
            raise BusUnavailable(f"{resource}: no answer in time") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                self.check_open()  # closing the channel cancels its calls, not their tasks
            raise

    async def _open_clients(self, end: float) -> Clients:
        self.check_open()
        if self._clients is not None and self._complete:
            return self._clients
        async with self._opening:
            self.check_open()
            if self._clients is None:
                channel = await self._channel()
                publisher = PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))
                subscriber = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
                self._clients = Clients(channel, publisher, subscriber)
            if not self._complete:
                clients, timeout_s = self._clients, max(end - asyncio.get_running_loop().time(), 0.001)
                await create_missing_resources(
                    self.project, self._topics, clients.publisher, clients.subscriber, timeout_s
                )
                self._complete = True
            return self._clients

    async def _channel(self) -> grpc.aio.Channel:
        if self._emulator is not None:
            return grpc.aio.insecure_channel(self._emulator, options=_OPTIONS)
        transport = PublisherGrpcAsyncIOTransport
        try:  # in a thread: it reads files and calls the metadata server
            credentials, _ = await asyncio.to_thread(google.auth.default, scopes=transport.AUTH_SCOPES)
        except google.auth.exceptions.GoogleAuthError as error:
            raise BusUnavailable(
                f"no credentials for Pub/Sub ({type(error).__name__}): run the service under an account of its own, or"
                " `gcloud auth application-default login`"
            ) from None
        channel: grpc.aio.Channel = transport.create_channel(credentials=credentials, options=(*_OPTIONS, *_KEEPALIVE))
        return channel
