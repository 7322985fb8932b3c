"""A gRPC server in the place of Pub/Sub, which keeps to a stream's window as the emulator does not."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import grpc
from google.pubsub_v1 import types

_POLL_S = 0.002


class PubSubPeer:
    def __init__(self, *, remembers: bool) -> None:
        self.host = ""
        self.down = False
        self.streams: list[Any] = []
        """The request that opened each."""
        self.modified: list[tuple[str, int]] = []
        self.acked: list[str] = []
        self._remembers = remembers
        self._waiting: deque[tuple[Any, int]] = deque()
        self._unanswered: dict[str, tuple[Any, int, int]] = {}
        """By ack id: the message, the attempt, the stream's number."""
        self._numbers = count(1)

    async def create(self, request: Any, _: Any) -> bytes:
        return bytes(request.SerializeToString())

    async def publish(self, request: Any, _: Any) -> bytes:
        ids = [str(next(self._numbers)) for _ in request.messages]
        for message, name in zip(request.messages, ids, strict=True):
            message.message_id = name
            self._waiting.append((message, 1))
        return bytes(types.PublishResponse.pb()(message_ids=ids).SerializeToString())

    async def acknowledge(self, request: Any, _: Any) -> bytes:
        self.acked += request.ack_ids
        for each in request.ack_ids:
            self._unanswered.pop(each, None)
        return b""

    async def modify(self, request: Any, context: Any) -> bytes:
        if self.down:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "down")
        for each in request.ack_ids:
            self.modified.append((each, request.ack_deadline_seconds))
            if request.ack_deadline_seconds == 0 and each in self._unanswered:
                message, attempt, _ = self._unanswered.pop(each)
                self._waiting.append((message, attempt + 1))
        return b""

    async def pull(self, requests: AsyncIterator[Any], _: Any) -> AsyncIterator[Any]:
        first = await anext(requests)
        self.streams.append(first)
        stream, ended = len(self.streams), asyncio.create_task(_exhaust(requests))
        while not ended.done():
            while self._waiting and self._outstanding(stream) < first.max_outstanding_messages:
                yield self._deliver(stream)
            await asyncio.wait({ended}, timeout=_POLL_S)

    def _outstanding(self, stream: int) -> int:
        return sum(self._remembers or number == stream for _, _, number in self._unanswered.values())

    def _deliver(self, stream: int) -> Any:
        message, attempt = self._waiting.popleft()
        ack_id = f"ack-{next(self._numbers)}"
        self._unanswered[ack_id] = message, attempt, stream
        received = {"ack_id": ack_id, "message": message, "delivery_attempt": attempt}
        return types.StreamingPullResponse.pb()(received_messages=[received])


async def _exhaust(requests: AsyncIterator[Any]) -> None:
    async for _ in requests:
        pass


@asynccontextmanager
async def listening(*, remembers: bool = False) -> AsyncIterator[PubSubPeer]:
    peer, server = PubSubPeer(remembers=remembers), grpc.aio.server()
    publisher = {"CreateTopic": _unary(peer.create, types.Topic), "Publish": _unary(peer.publish, types.PublishRequest)}
    subscriber = {
        "CreateSubscription": _unary(peer.create, types.Subscription),
        "Acknowledge": _unary(peer.acknowledge, types.AcknowledgeRequest),
        "ModifyAckDeadline": _unary(peer.modify, types.ModifyAckDeadlineRequest),
        "StreamingPull": grpc.stream_stream_rpc_method_handler(
            peer.pull, types.StreamingPullRequest.pb().FromString, types.StreamingPullResponse.pb().SerializeToString
        ),
    }
    for name, methods in (("Publisher", publisher), ("Subscriber", subscriber)):
        handler = grpc.method_handlers_generic_handler(f"google.pubsub.v1.{name}", methods)
        server.add_generic_rpc_handlers((handler,))
    peer.host = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield peer
    finally:
        await server.stop(None)


def _unary(method: Any, request: Any) -> Any:
    return grpc.unary_unary_rpc_method_handler(method, request.pb().FromString)
