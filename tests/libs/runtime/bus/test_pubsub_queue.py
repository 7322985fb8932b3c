import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import wraps
from typing import Any

import pytest
from google.pubsub_v1.types import ReceivedMessage

from aex_models.events import TOPICS
from aex_runtime.bus.consume_loop import LeasedMessage
from aex_runtime.bus.port import Ack, Outgoing, Retry
from aex_runtime.bus.pubsub import PubSubBus
from aex_runtime.bus.pubsub_connection import PubSubConnection
from aex_runtime.bus.pubsub_queue import PubSubQueue
from aex_runtime.bus.pubsub_stream import FlowControl, Subscription
from aex_runtime.ids import SeededIds
from tests.bus.contract import IMPATIENT
from tests.bus.messages import CHECKED, TIMEOUT_S, Recorder, eventually, outgoing, stop
from tests.libs.runtime.bus.pubsub_peer import PubSubPeer, listening

SERVICE = "work-publisher"
LEASE = timedelta(seconds=10)
AT_ONCE = Retry(timedelta())


class SkippingLoop(asyncio.SelectorEventLoop):
    """Event loop whose time can be moved forward."""

    skipped_s = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_s


def on_skipping_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        with asyncio.Runner(loop_factory=SkippingLoop) as runner:
            runner.run(test())

    return run


async def skip(by: timedelta) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skipped_s += by.total_seconds()
    await asyncio.sleep(0.02)  # what is due now runs


class Harness:
    def __init__(self, peer: PubSubPeer, connection: PubSubConnection, lease: timedelta) -> None:
        self.peer = peer
        self.republished: list[tuple[Outgoing, int]] = []
        subscription = Subscription(connection, "projects/p/subscriptions/s", FlowControl(8))
        self.queue = PubSubQueue(SERVICE, {CHECKED: subscription}, asyncio.Event(), self._republish, lease)

    def deliver(self, name: str, ack_id: str, attempt: int = 1) -> None:
        message = {"message_id": name, "data": b"{}", "attributes": {"ce-id": name}}
        received: Any = ReceivedMessage.pb()(ack_id=ack_id, delivery_attempt=attempt, message=message)
        self.queue.add_received(CHECKED, [received])

    async def lease(self) -> LeasedMessage:
        (message,) = (await self.queue.lease(1)).messages
        return message

    async def fail(self, times: int) -> None:
        for _ in range(times):
            await self.queue.resolve(await self.lease(), AT_ONCE)

    async def expire(self) -> None:
        await skip(LEASE + timedelta(milliseconds=10))

    async def _republish(self, messages: Sequence[tuple[Outgoing, int]], _: float) -> None:
        self.republished += messages


@asynccontextmanager
async def harness(lease: timedelta = LEASE) -> AsyncIterator[Harness]:
    async with listening() as peer:
        connection = PubSubConnection("p", peer.host, {}, SeededIds(1), deadline_s=1)
        yield Harness(peer, connection, lease)
        await connection.close()


@on_skipping_loop
async def test_attempts_of_many_waiting_messages_are_counted() -> None:
    async with harness() as h:
        for number in range(50):
            h.deliver(str(number), f"ack-{number}")
        for attempt in range(1, 9):
            messages = (await h.queue.lease(50)).messages
            assert {message.delivery.attempt for message in messages} == {attempt}
            assert len(messages) == 50
            for message in messages:
                await h.queue.resolve(message, AT_ONCE)
        assert h.peer.modified == []
        await h.queue.release_all()
        assert [attempts for _, attempts in h.republished] == [8] * 50


@on_skipping_loop
async def test_redelivered_message_keeps_its_attempts() -> None:
    async with harness() as h:
        h.deliver("a", "ack-1")
        await h.fail(5)
        await h.expire()
        assert (await h.queue.lease(1)).messages == []
        h.deliver("a", "ack-2", attempt=2)
        message = await h.lease()
        assert message.delivery.attempt == 6
        await h.queue.resolve(message, Ack())
        await h.queue.release_all()
        assert h.peer.acked == ["ack-2"]
        assert h.republished == []


@on_skipping_loop
async def test_message_with_an_expired_lease_is_released_and_forgotten() -> None:
    async with harness() as h:
        h.deliver("a", "ack-1")
        await h.fail(5)
        await h.expire()
        assert (await h.queue.lease(1)).messages == []
        extending = asyncio.create_task(h.queue.extend_leases_until_cancelled())
        await eventually(lambda: h.peer.modified == [("ack-1", 0)])
        for _ in range(7):
            await skip(LEASE)
        assert h.peer.modified == [("ack-1", 0)]
        await stop(extending)
        h.deliver("a", "ack-2", attempt=3)
        assert (await h.lease()).delivery.attempt == 3


@on_skipping_loop
async def test_message_with_an_expired_lease_is_not_republished() -> None:
    async with harness() as h:
        h.deliver("a", "ack-1")
        await h.expire()
        assert (await h.queue.lease(1)).messages == []
        await h.queue.release_all()
        assert h.republished == []
        assert h.peer.acked == []


@on_skipping_loop
async def test_handled_message_with_an_expired_lease_has_one_handler() -> None:
    async with harness() as h:
        h.peer.down = True
        h.deliver("a", "ack-1")
        message = await h.lease()
        extending = asyncio.create_task(h.queue.extend_leases_until_cancelled())
        await h.expire()
        h.peer.down = False
        await eventually(lambda: h.peer.modified.count(("ack-1", 10)) >= 2)
        h.deliver("a", "ack-2", attempt=2)
        assert (await h.queue.lease(1)).messages == []
        await eventually(lambda: ("ack-2", 10) in h.peer.modified)
        await stop(extending)
        await h.queue.resolve(message, Ack())
        await h.queue.release_all()
        assert h.peer.acked == ["ack-2"]


@on_skipping_loop
async def test_message_that_takes_its_time_is_confirmed_soon_after_it_came() -> None:
    async with harness(timedelta(seconds=600)) as h:
        extending = asyncio.create_task(h.queue.extend_leases_until_cancelled())
        h.deliver("a", "ack-1")
        await asyncio.sleep(0)
        await skip(timedelta(seconds=61))  # a tenth of the lease
        await eventually(lambda: h.peer.modified == [("ack-1", 600)])
        await stop(extending)


async def test_consumer_raises_the_error_of_its_lease_extension() -> None:
    class NoIds(SeededIds):
        def jitter(self) -> float:
            raise RuntimeError("no jitter")

    async with listening() as peer:
        bus = PubSubBus("p", emulator=peer.host, topics={CHECKED: TOPICS[CHECKED]}, policy=IMPATIENT, ids=NoIds(1))
        peer.down = True
        recorder = Recorder(takes=timedelta(minutes=1))
        consumer = asyncio.create_task(bus.consume(SERVICE, [CHECKED], recorder, 1))
        await bus.publish([outgoing("a")])
        with pytest.raises(ExceptionGroup) as failure:
            async with asyncio.timeout(TIMEOUT_S):
                await consumer
        assert failure.group_contains(RuntimeError, match="no jitter")
        await bus.close()


@on_skipping_loop
async def test_suspects_are_leased_alone() -> None:
    async with harness() as h:
        for number in range(3):
            h.deliver(f"suspect-{number}", f"ack-{number}", attempt=4)
        h.deliver("good", "ack-good", attempt=3)
        leased = await h.queue.lease(10)
        assert ([message.delivery.attempt for message in leased.messages], leased.has_suspects) == ([3], True)
        suspects = [await h.queue.lease_suspect() for _ in range(4)]
        assert sorted(message.token for message in suspects if message) == [f"{CHECKED}/suspect-{n}" for n in range(3)]
        assert suspects[-1] is None
        assert not (await h.queue.lease(10)).has_suspects
