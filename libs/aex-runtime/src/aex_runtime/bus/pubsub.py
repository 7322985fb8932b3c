"""The bus on Google Cloud Pub/Sub, or on its emulator. Topics and subscriptions: see `pubsub_topology`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from google.pubsub_v1.types import GetTopicRequest, PublishRequest

from aex_models.events import TOPICS, Topic
from aex_runtime.bus.consumption import Consumption, Pace
from aex_runtime.bus.port import Outgoing, Receiver
from aex_runtime.bus.pubsub_connection import Clients, PubSubConnection
from aex_runtime.bus.pubsub_publishing import check_limits, publish_requests
from aex_runtime.bus.pubsub_queue import PubSubQueue
from aex_runtime.bus.pubsub_stream import Received, StreamingPull
from aex_runtime.bus.pubsub_subscription import Subscription
from aex_runtime.bus.pubsub_topology import probed_topic, subscription_id, subscription_path, topic_path
from aex_runtime.bus.pubsub_window import Window
from aex_runtime.bus.topology import check_subscription, route
from aex_runtime.ids import Ids, RandomIds

_PING_TIMEOUT_S = 3.0
_LIFETIME = timedelta(minutes=10)
"""Of a stream: one that died unnoticed does not stay so for ever."""
_EMULATOR_LIFETIME = timedelta(seconds=3)
"""An emulator never notices that a process was killed: until its stream's deadline (twice the lifetime, well within
the ack deadline) it goes on delivering to that."""
_ROOM = 2
"""Messages of a subscription that a consumer may hold beside those that failed and wait, for each handler that may run:
one being handled, one fetched ahead. Small, so that replicas share a backlog, and a crash counts against few."""


class PubSubBus:
    """Publishes and consumes in a project. Any number of processes may do so."""

    def __init__(
        self,
        project: str,
        *,
        emulator: str | None = None,
        topics: Mapping[str, Topic] = TOPICS,
        pace: Pace | None = None,
        ids: Ids | None = None,
        deadline_s: float = 10.0,
        stream_lifetime: timedelta | None = None,
    ) -> None:
        """`emulator`: its `host:port`. Of `pace` only `drain` matters: messages arrive by themselves, and the ack
        deadline is the subscription's. `deadline_s`: of one call with its retries. `stream_lifetime`: after which a
        stream is opened anew; else what suits the server.
        """
        self._topics = topics
        self._pace = pace or Pace()
        self._ids = ids or RandomIds()
        self._lifetime = stream_lifetime or (_LIFETIME if emulator is None else _EMULATOR_LIFETIME)
        self._connection = PubSubConnection(project, emulator, topics, self._ids, deadline_s)

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        route(self._topics, messages)
        for outgoing in messages:
            check_limits(outgoing)
        await self._publish([(outgoing, 0) for outgoing in messages])

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        check_subscription(self._topics, service, topics)
        self._connection.check_open()
        wake = asyncio.Event()
        subscriptions = {topic: self._subscription(topic, service, concurrency) for topic in topics}
        queue = PubSubQueue(service, subscriptions, wake, self._publish)
        async with asyncio.TaskGroup() as keeping:
            keeper = keeping.create_task(queue.keep_leases())  # also while running handlers finish
            try:
                async with asyncio.TaskGroup() as tasks:  # cancelled together: the streams end while handlers finish
                    for topic, subscription in subscriptions.items():
                        pull = self._pull(subscription, partial(queue.take, topic))
                        tasks.create_task(pull.run())
                    tasks.create_task(Consumption(queue, receive, concurrency, self._pace, wake, self._ids).run())
            finally:
                await queue.give_back()  # what a stream still delivered while it ended
                keeper.cancel()

    async def ping(self) -> None:
        topic = topic_path(self._connection.project, probed_topic(self._topics))

        async def get(clients: Clients, timeout_s: float) -> None:
            await clients.publisher.get_topic(GetTopicRequest(topic=topic), retry=None, timeout=timeout_s)

        await self._connection.call(topic, get, _PING_TIMEOUT_S)

    async def close(self) -> None:
        await self._connection.close()

    async def _publish(self, messages: Sequence[tuple[Outgoing, int]], deadline_s: float | None = None) -> None:
        requests = publish_requests(self._connection.project, messages)
        sent = (self._connection.call(each.topic, partial(_send, each), deadline_s) for each in requests)
        # Each is awaited even where one fails, so that none is left running unseen.
        for result in await asyncio.gather(*sent, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    def _subscription(self, topic: str, service: str, concurrency: int) -> Subscription:
        path = subscription_path(self._connection.project, subscription_id(topic, service))
        return Subscription(self._connection, path, Window(_ROOM * concurrency))

    def _pull(self, subscription: Subscription, take: Callable[[Sequence[Received]], None]) -> StreamingPull:
        return StreamingPull(self._connection, subscription.path, subscription.window, take, self._ids, self._lifetime)


async def _send(request: PublishRequest, clients: Clients, timeout_s: float) -> None:
    await clients.publisher.publish(request, retry=None, timeout=timeout_s)
