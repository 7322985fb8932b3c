import asyncio
import time
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from aex_runtime.bus.port import BusUnavailable, Retry
from aex_runtime.bus.pubsub import PubSubBus
from aex_runtime.bus.pubsub_topology import ACK_DEADLINE
from tests.bus.contract import IMPATIENT, ONLY_WOKEN, PUBLISHER, OpenBus
from tests.bus.messages import Recorder, consuming, eventually, name_of, outgoing, stop
from tests.bus.worker import working
from tests.emulators.emulators import OwnEmulators

pytestmark = pytest.mark.emulator


@pytest.fixture
def emulators(own_emulators: OwnEmulators) -> OwnEmulators:
    return own_emulators


@pytest.mark.slow
async def test_unanswered_call_is_unavailable_in_time(
    emulators: OwnEmulators, project: str, open_pubsub: OpenBus
) -> None:
    await open_pubsub(ONLY_WOKEN).ping()  # declares the resources, which may take longer than the deadline
    bus, recorder = PubSubBus(project, emulator=emulators.pubsub.host, deadline_s=2.0), Recorder()
    async with consuming(bus, PUBLISHER, recorder):
        await bus.publish([outgoing("before")])
        await recorder.got(1)
        with emulators.pubsub.paused():
            started = time.monotonic()
            with pytest.raises(BusUnavailable, match=r"work\.checked: "):
                await bus.publish([outgoing("lost")])
            assert time.monotonic() - started < 20
            with pytest.raises(BusUnavailable):
                await bus.ping()
        await open_pubsub(ONLY_WOKEN).publish([outgoing("after")])
        await eventually(lambda: "after" in recorder.names)
    await bus.close()


@pytest.mark.slow
async def test_consumers_survive_a_restart_of_the_emulator(
    emulators: OwnEmulators, project: str, open_pubsub: OpenBus
) -> None:
    emulator = emulators.pubsub
    bus, recorder = open_pubsub(ONLY_WOKEN), Recorder()
    hasty = PubSubBus(project, emulator=emulator.host, deadline_s=5)
    await hasty.ping()
    async with consuming(bus, PUBLISHER, recorder):
        await bus.publish([outgoing("before")])
        await recorder.got(1)
        await asyncio.to_thread(emulator.stop)
        with capture_logs() as logs:
            publishing = asyncio.create_task(hasty.publish([outgoing("meanwhile")]))
            await eventually(lambda: any(entry["event"] == "stream_reopened" for entry in logs))
            with pytest.raises(BusUnavailable, match="UNAVAILABLE"):
                await publishing
        await asyncio.to_thread(emulator.start)
        await bus.publish([outgoing("after")])
        await recorder.got(2)
    assert recorder.names == ["before", "after"]
    await hasty.close()


@pytest.mark.slow
async def test_message_of_a_killed_process_is_redelivered(
    emulators: OwnEmulators, project: str, open_pubsub: OpenBus
) -> None:
    bus, recorder = open_pubsub(ONLY_WOKEN), Recorder()
    async with working(f"pubsub://{project}", "hold", environment=emulators.environment()) as worker:
        await bus.publish([outgoing("a")])
        assert await worker.line() == "got a"
        async with consuming(bus, PUBLISHER, recorder):
            await worker.kill()
            await recorder.got(1)
    assert [(name_of(delivery), delivery.attempt) for delivery in recorder.deliveries] == [("a", 2)]


@pytest.mark.slow
async def test_consumer_stops_in_time_while_the_bus_does_not_answer(
    emulators: OwnEmulators, open_pubsub: OpenBus
) -> None:
    bus, recorder, after = open_pubsub(IMPATIENT), Recorder(Retry(timedelta(hours=1))), Recorder()
    async with consuming(bus, PUBLISHER, recorder) as task:
        await bus.publish([outgoing("a")])
        await recorder.got(1)
        with emulators.pubsub.paused():
            started = time.monotonic()
            await stop(task)
            assert time.monotonic() - started < 30
    async with consuming(bus, PUBLISHER, after):
        await after.got(1)
    assert after.names[0] == "a"


@pytest.mark.slow
async def test_message_with_a_lease_expired_in_an_outage_is_redelivered(
    emulators: OwnEmulators, open_pubsub: OpenBus
) -> None:
    bus, recorder = open_pubsub(ONLY_WOKEN), Recorder(Retry(timedelta(seconds=13)))
    with capture_logs() as logs:
        async with consuming(bus, PUBLISHER, recorder):
            await bus.publish([outgoing("a")])
            await recorder.got(1)
            with emulators.pubsub.paused():
                await asyncio.sleep(ACK_DEADLINE.total_seconds() + 1)
            await eventually(lambda: any(entry["event"] == "lease_lapsed" for entry in logs))
            await recorder.got(2)
    assert [delivery.attempt for delivery in recorder.deliveries] == [1, 2]


async def test_close_ends_running_calls(emulators: OwnEmulators, project: str) -> None:
    before = asyncio.all_tasks()
    bus = PubSubBus(project, emulator=emulators.pubsub.host)
    await bus.ping()
    with emulators.pubsub.paused():
        publishing = asyncio.create_task(bus.publish([outgoing("a")]))
        await asyncio.sleep(0.1)
        await bus.close()
        with pytest.raises(BusUnavailable, match="closed"):
            await publishing
    await eventually(lambda: asyncio.all_tasks() == before)
