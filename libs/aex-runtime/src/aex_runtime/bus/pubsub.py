"""An event bus on Google Cloud Pub/Sub, or on its emulator."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from google.pubsub_v1.types import GetTopicRequest, PublishRequest, PubsubMessage

from aex_models.events import TOPICS, Topic
from aex_runtime.bus import pubsub_topology as topology
from aex_runtime.bus.consume_loop import ConsumeLoop, ConsumePolicy
from aex_runtime.bus.port import BusError, Outgoing, Receiver, check_subscriptions, route_to_subscribers
from aex_runtime.bus.pubsub_connection import PubSubConnection
from aex_runtime.bus.pubsub_queue import PubSubQueue
from aex_runtime.bus.pubsub_stream import FlowControl, StreamingPull, Subscription
from aex_runtime.ids import Ids, RandomIds

# Pub/Sub's limits: https://cloud.google.com/pubsub/quotas#resource_limits
_MAX_BYTES = 10_000_000 - 1_000  # of a request, without the topic's name and the bus's own attributes
_MAX_REQUEST_MESSAGES = 1_000
_MAX_ATTRIBUTES = 100 - len(topology.RESERVED)
_MAX_KEY_BYTES = 256
_MAX_VALUE_BYTES = 1_024
_FORBIDDEN_PREFIX = "goog"
_MESSAGE_OVERHEAD_BYTES = 8
# Plain protobuf classes: Google's wrappers cost more than the rest of publishing.
_Wire: Any = PubsubMessage.pb()
_Request: Any = PublishRequest.pb()

_PING_TIMEOUT_S = 3.0
_LIFETIME = timedelta(minutes=10)
"""Lifetime of a stream. It limits how long a dead connection stays unnoticed."""
_EMULATOR_LIFETIME = timedelta(seconds=3)
"""Lifetime of a stream on an emulator, which does not notice a killed process.

The emulator delivers to a stream until its deadline, which is twice the lifetime and well within the ack deadline.
"""
_WINDOW_PER_HANDLER = 2
"""Unacked messages of a subscription per handler: the one being handled and the next.

It is small so that replicas share a backlog, and a crash costs few messages an attempt.
"""


def check_message_limits(outgoing: Outgoing) -> None:
    """Raise `BusError` for a message that Pub/Sub would refuse. The text quotes no data."""
    message, topic = outgoing.message, outgoing.topic
    if not message.data and not message.attributes:
        raise BusError(f"{topic}: a message needs data or an attribute")
    if len(message.attributes) > _MAX_ATTRIBUTES:
        raise BusError(f"{topic}: {len(message.attributes)} attributes exceed the limit of {_MAX_ATTRIBUTES}")
    size = len(message.data) + sum(_attribute_bytes(topic, *each) for each in message.attributes.items())
    if size > _MAX_BYTES:
        raise BusError(f"{topic}: a message of {size} bytes exceeds the limit of {_MAX_BYTES}")


def _attribute_bytes(topic: str, name: str, value: str) -> int:
    try:
        name_bytes, value_bytes = len(name.encode()), len(value.encode())
    except UnicodeEncodeError:
        raise BusError(f"{topic}: an attribute is not Unicode text") from None
    where = f"{topic}: {name[:50]!r}"
    if not 0 < name_bytes <= _MAX_KEY_BYTES or name.startswith(_FORBIDDEN_PREFIX) or name in topology.RESERVED:
        raise BusError(f"{where} is no valid attribute name: 1 to 256 bytes, not goog…, not one of the bus")
    if value_bytes > _MAX_VALUE_BYTES:
        raise BusError(f"{where} of {value_bytes} bytes exceeds the limit of {_MAX_VALUE_BYTES}")
    return name_bytes + value_bytes + _MESSAGE_OVERHEAD_BYTES


def build_publish_requests(
    project: str, messages: Sequence[tuple[Outgoing, int]], max_bytes: int = _MAX_BYTES
) -> list[PublishRequest]:
    """Build as few publish requests as the limits allow, each for one topic.

    `messages` are pairs of a message and the attempts that it has used.
    """
    requests: list[PublishRequest] = []
    latest: dict[str, tuple[Any, int]] = {}
    for outgoing, attempts in messages:
        message = topology.add_bus_attributes(outgoing.message, outgoing.subscriber, attempts)
        wire = _Wire(data=message.data, attributes=message.attributes)
        size = wire.ByteSize() + _MESSAGE_OVERHEAD_BYTES
        request, used = latest.get(outgoing.topic, (None, 0))
        if request is None or used + size > max_bytes or len(request.messages) >= _MAX_REQUEST_MESSAGES:
            request, used = _Request(topic=topology.topic_path(project, outgoing.topic)), 0
            requests.append(PublishRequest.wrap(request))
        request.messages.append(wire)
        latest[outgoing.topic] = request, used + size
    return requests


class PubSubBus:
    """A bus on the topics and subscriptions of a project, which any number of processes may share."""

    def __init__(
        self,
        project: str,
        *,
        emulator: str | None = None,
        topics: Mapping[str, Topic] = TOPICS,
        policy: ConsumePolicy | None = None,
        ids: Ids | None = None,
        deadline_s: float = 10.0,
        stream_lifetime: timedelta | None = None,
    ) -> None:
        """Create a bus that connects at its first use.

        Only `drain` of `policy` is used, because the server pushes messages. `emulator` is `host:port`. `deadline_s`
        bounds a call with its retries. A stream is opened again after `stream_lifetime`; None chooses what suits the
        server.
        """
        self._topics = topics
        self._policy = policy or ConsumePolicy()
        self._ids = ids or RandomIds()
        self._lifetime = stream_lifetime or (_LIFETIME if emulator is None else _EMULATOR_LIFETIME)
        self._connection = PubSubConnection(project, emulator, topics, self._ids, deadline_s)

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        route_to_subscribers(self._topics, messages)
        for outgoing in messages:
            check_message_limits(outgoing)
        await self._publish([(outgoing, 0) for outgoing in messages])

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        check_subscriptions(self._topics, service, topics)
        self._connection.check_open()
        wake = asyncio.Event()
        subscriptions = {topic: self._subscription(topic, service, concurrency) for topic in topics}
        queue = PubSubQueue(service, subscriptions, wake, self._publish)
        async with asyncio.TaskGroup() as background:
            extender = background.create_task(
                queue.extend_leases_until_cancelled()
            )  # also while running handlers finish
            try:
                async with asyncio.TaskGroup() as tasks:  # cancelled together: the streams end while handlers finish
                    for topic, each in subscriptions.items():
                        pull = StreamingPull(each, partial(queue.add_received, topic), self._ids, self._lifetime)
                        tasks.create_task(pull.run())
                    tasks.create_task(ConsumeLoop(queue, receive, concurrency, self._policy, wake, self._ids).run())
            finally:
                await queue.release_all()  # messages that a stream delivered while it ended
                extender.cancel()

    async def ping(self) -> None:
        topic = topology.topic_path(self._connection.project, topology.readiness_topic(self._topics))
        request = GetTopicRequest(topic=topic)
        await self._connection.send_with_retries(
            topic, lambda clients: clients.publisher.get_topic, request, _PING_TIMEOUT_S
        )

    async def close(self) -> None:
        await self._connection.close()

    async def _publish(self, messages: Sequence[tuple[Outgoing, int]], deadline_s: float | None = None) -> None:
        requests = build_publish_requests(self._connection.project, messages)
        sent = (
            self._connection.send_with_retries(each.topic, lambda clients: clients.publisher.publish, each, deadline_s)
            for each in requests
        )
        # Each is awaited even if one fails, so that none remains running.
        for result in await asyncio.gather(*sent, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    def _subscription(self, topic: str, service: str, concurrency: int) -> Subscription:
        path = topology.subscription_path(self._connection.project, topology.subscription_id(topic, service))
        return Subscription(self._connection, path, FlowControl(_WINDOW_PER_HANDLER * concurrency))
