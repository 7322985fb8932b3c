import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from google.pubsub_v1.types import ReceivedMessage

from aex_models.events import TOPICS
from aex_runtime.bus.consumption import Claim
from aex_runtime.bus.port import Ack, Outgoing, Retry
from aex_runtime.bus.pubsub import PubSubBus
from aex_runtime.bus.pubsub_connection import PubSubConnection
from aex_runtime.bus.pubsub_queue import PubSubQueue
from aex_runtime.bus.pubsub_subscription import Subscription
from aex_runtime.bus.pubsub_window import Window
from aex_runtime.ids import SeededIds
from tests.bus.contract import IMPATIENT
from tests.bus.messages import CHECKED, Recorder, eventually, outgoing, stop
from tests.libs.runtime.bus.pubsub_peer import PubSubPeer, listening

SERVICE = "work-publisher"
LEASE = timedelta(milliseconds=200)
AT_ONCE = Retry(timedelta())


class Harness:
    """A queue whose messages the test delivers, and a peer that is told about them."""

    def __init__(self, peer: PubSubPeer, connection: PubSubConnection, lease: timedelta) -> None:
        self.peer = peer
        self.republished: list[tuple[Outgoing, int]] = []
        subscription = Subscription(connection, "projects/p/subscriptions/s", Window(8))
        self.queue = PubSubQueue(SERVICE, {CHECKED: subscription}, asyncio.Event(), self._republish, lease)

    def deliver(self, name: str, ack_id: str, attempt: int = 1) -> None:
        message = {"message_id": name, "data": b"{}", "attributes": {"ce-id": name}}
        received: Any = ReceivedMessage.pb()(ack_id=ack_id, delivery_attempt=attempt, message=message)
        self.queue.take(CHECKED, [received])

    async def claim(self) -> Claim:
        (claim,) = (await self.queue.claim(1)).claims
        return claim

    async def fail(self, times: int) -> None:
        for _ in range(times):
            await self.queue.settle(await self.claim(), AT_ONCE)

    async def lapse(self) -> None:
        """Wait until what was delivered by now is not leased any more, unless that was extended."""
        await asyncio.sleep(LEASE.total_seconds() + 0.01)

    async def _republish(self, messages: Sequence[tuple[Outgoing, int]], _: float) -> None:
        self.republished += messages


@asynccontextmanager
async def harness(lease: timedelta = LEASE) -> AsyncIterator[Harness]:
    async with listening() as peer:
        connection = PubSubConnection("p", peer.host, {}, SeededIds(1), deadline_s=1)
        yield Harness(peer, connection, lease)
        await connection.close()


async def test_attempts_are_counted_on_however_many_messages_wait() -> None:
    async with harness(timedelta(seconds=10)) as h:
        for number in range(50):
            h.deliver(str(number), f"ack-{number}")
        for attempt in range(1, 9):
            claims = (await h.queue.claim(50)).claims
            assert {claim.delivery.attempt for claim in claims} == {attempt}
            assert len(claims) == 50
            for claim in claims:
                await h.queue.settle(claim, AT_ONCE)
        assert h.peer.modified == []
        await h.queue.give_back()
        assert [attempts for _, attempts in h.republished] == [8] * 50


async def test_message_that_comes_back_after_its_lease_lapsed_keeps_its_attempts() -> None:
    async with harness() as h:
        h.deliver("a", "ack-1")
        await h.fail(5)
        await h.lapse()
        assert (await h.queue.claim(1)).claims == []
        h.deliver("a", "ack-2", attempt=2)
        claim = await h.claim()
        assert claim.delivery.attempt == 6
        await h.queue.settle(claim, Ack())
        await h.queue.give_back()
        assert h.peer.acked == ["ack-2"]
        assert h.republished == []


async def test_message_whose_lease_lapsed_is_left_to_others_at_once_and_forgotten() -> None:
    async with harness() as h:
        h.deliver("a", "ack-1")
        await h.fail(5)
        await h.lapse()
        assert (await h.queue.claim(1)).claims == []
        keeping = asyncio.create_task(h.queue.keep_leases())
        await eventually(lambda: h.peer.modified == [("ack-1", 0)])
        await asyncio.sleep(7 * LEASE.total_seconds())
        assert h.peer.modified == [("ack-1", 0)]
        await stop(keeping)
        h.deliver("a", "ack-2", attempt=3)
        assert (await h.claim()).delivery.attempt == 3


async def test_message_that_lapsed_is_not_given_back_by_those_who_lost_it() -> None:
    async with harness() as h:
        h.deliver("a", "ack-1")
        await h.lapse()
        assert (await h.queue.claim(1)).claims == []
        await h.queue.give_back()
        assert h.republished == []
        assert h.peer.acked == []


async def test_message_in_hand_is_extended_on_after_its_lease_lapsed_and_given_to_no_second_handler() -> None:
    async with harness() as h:
        h.peer.down = True
        h.deliver("a", "ack-1")
        claim = await h.claim()
        keeping = asyncio.create_task(h.queue.keep_leases())
        await h.lapse()
        h.peer.down = False
        await eventually(lambda: h.peer.modified.count(("ack-1", 1)) >= 2)
        h.deliver("a", "ack-2", attempt=2)
        assert (await h.queue.claim(1)).claims == []
        await eventually(lambda: ("ack-2", 1) in h.peer.modified)
        await stop(keeping)
        await h.queue.settle(claim, Ack())
        await h.queue.give_back()
        assert h.peer.acked == ["ack-2"]


async def test_message_that_takes_its_time_is_confirmed_soon_after_it_came() -> None:
    async with harness(timedelta(seconds=10)) as h:
        keeping = asyncio.create_task(h.queue.keep_leases())
        h.deliver("a", "ack-1")
        async with asyncio.timeout(3):
            await eventually(lambda: h.peer.modified == [("ack-1", 10)])
        await stop(keeping)


async def test_consumer_that_can_extend_no_leases_ends_with_what_is_wrong() -> None:
    class NoIds(SeededIds):
        def jitter(self) -> float:
            raise RuntimeError("no jitter")

    async with listening() as peer:
        bus = PubSubBus("p", emulator=peer.host, topics={CHECKED: TOPICS[CHECKED]}, pace=IMPATIENT, ids=NoIds(1))
        peer.down = True
        recorder = Recorder(takes=timedelta(minutes=1))
        consumer = asyncio.create_task(bus.consume(SERVICE, [CHECKED], recorder, 1))
        await bus.publish([outgoing("a")])
        with pytest.raises(ExceptionGroup) as failure:
            async with asyncio.timeout(15):
                await consumer
        assert failure.group_contains(RuntimeError, match="no jitter")
        await bus.close()


async def test_what_was_delivered_often_and_never_answered_is_given_out_by_itself() -> None:
    async with harness(timedelta(seconds=10)) as h:
        for number in range(3):
            h.deliver(f"suspect-{number}", f"ack-{number}", attempt=4)
        h.deliver("good", "ack-good", attempt=3)
        claimed = await h.queue.claim(10)
        assert ([claim.delivery.attempt for claim in claimed.claims], claimed.suspected) == ([3], True)
        suspects = [await h.queue.claim_suspected() for _ in range(4)]
        assert sorted(claim.token for claim in suspects if claim) == [f"{CHECKED}/suspect-{n}" for n in range(3)]
        assert suspects[-1] is None
        assert not (await h.queue.claim(10)).suspected
