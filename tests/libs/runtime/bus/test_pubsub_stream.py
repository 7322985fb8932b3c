import asyncio
from datetime import timedelta

import pytest

from aex_models.events import TOPICS
from aex_runtime.bus.port import Ack, Delivery, Disposition, Retry
from aex_runtime.bus.pubsub import PubSubBus
from aex_runtime.bus.pubsub_stream import FlowControl
from tests.bus.messages import CHECKED, consuming, eventually, name_of, outgoing
from tests.libs.runtime.bus.pubsub_peer import PubSubPeer, listening

SERVICE = "work-publisher"
LATER = timedelta(hours=1)


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_waiting_messages_widen_the_window_of_the_next_stream() -> None:
    window = FlowControl(8)
    assert window.start_window_and_get_size() == 8
    for _ in range(5):
        window.schedule_retry_and_get_due_at(now() - 1)  # due at once
    for _ in range(4):
        window.schedule_retry_and_get_due_at(now() + 60)
    assert not window.outgrown.is_set()
    window.schedule_retry_and_get_due_at(now() + 60)
    assert window.outgrown.is_set()  # less than half is left for work
    assert window.start_window_and_get_size() == 13
    assert not window.outgrown.is_set()


async def test_window_that_is_as_wide_as_any_may_be_is_never_outgrown() -> None:
    window = FlowControl(8, total_limit=20)
    for _ in range(30):
        window.schedule_retry_and_get_due_at(now() + 60)
    assert window.start_window_and_get_size() == 20
    window.schedule_retry_and_get_due_at(now() + 60)
    assert not window.outgrown.is_set()
    assert FlowControl(30, total_limit=20).start_window_and_get_size() == 30


def opened(peer: PubSubPeer) -> PubSubBus:
    topics = {CHECKED: TOPICS[CHECKED]}
    return PubSubBus("p", emulator=peer.host, topics=topics, stream_lifetime=timedelta(minutes=10))


@pytest.mark.parametrize("remembers", [True, False])
async def test_waiting_messages_delay_no_others(remembers: bool) -> None:
    failed, good = set[str](), set[str]()

    async def receive(delivery: Delivery) -> Disposition:
        if delivery.message.data == b"poison":
            failed.add(name_of(delivery))
            return Retry(LATER)
        good.add(name_of(delivery))
        return Ack()

    async with listening(remembers=remembers) as peer:
        bus = opened(peer)
        async with consuming(bus, SERVICE, receive):
            await bus.publish([outgoing(f"poison {number}", data=b"poison") for number in range(60)])
            await eventually(lambda: len(failed) == 60)
            await bus.publish([outgoing(str(number)) for number in range(20)])
            await eventually(lambda: len(good) == 20)
        await bus.close()
    windows = [stream.max_outstanding_messages for stream in peer.streams]
    assert windows[0] == 8
    assert windows == sorted(windows)
    assert windows[-1] <= 8 + 60
    assert {stream.max_outstanding_bytes for stream in peer.streams} == {64_000_000}


async def test_outage_does_not_draw_the_backlog_into_one_consumer() -> None:
    tried: dict[str, int] = {}

    async def receive(delivery: Delivery) -> Disposition:
        tried[name_of(delivery)] = tried.get(name_of(delivery), 0) + 1
        return Retry(timedelta(milliseconds=5), counted=False)

    async with listening() as peer:
        bus = opened(peer)
        async with consuming(bus, SERVICE, receive):
            await bus.publish([outgoing(str(number)) for number in range(60)])
            await eventually(lambda: max(tried.values(), default=0) >= 20)
            assert len(tried) == 8
        await bus.close()
    assert len(peer.streams) == 1


async def test_failures_retry_at_once_above_the_total_limit_unless_the_window_is_fixed() -> None:
    far = now() + 60
    window, fixed = FlowControl(8, total_limit=20), FlowControl(8, total_limit=8)
    for each in (window, fixed):
        assert [each.schedule_retry_and_get_due_at(far) for _ in range(12)] == [far] * 12
    assert window.schedule_retry_and_get_due_at(far) < now() + 1
    assert window.schedule_retry_and_get_due_at(now() - 1) < now()
