"""The bus on Pub/Sub beside Google's own clients: `python -m tests.benchmarks.bus_bench`.

Both publish the same events in the same batches and handle them as they come, until the last one is acked.
"""

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import grpc
import uvloop
from google.cloud.pubsub_v1 import SubscriberClient
from google.cloud.pubsub_v1.types import FlowControl
from google.pubsub_v1 import PublisherClient
from google.pubsub_v1.services.publisher.transports.grpc import PublisherGrpcTransport
from google.pubsub_v1.types import PubsubMessage

from aex_runtime.bus.port import Ack, Delivery, Disposition, Message, Outgoing
from aex_runtime.bus.pubsub import PubSubBus
from aex_runtime.bus.pubsub_topology import subscription_id, subscription_path, topic_path
from tests.benchmarks.sides import Comparison, Side, compare, table
from tests.emulators.emulators import new_project
from tests.emulators.jars import find_jars
from tests.emulators.pubsub import PubSubEmulator

TOPIC, SERVICE = "work.checked", "work-publisher"
ATTRIBUTES = {"ce-id": "evt_1", "ce-type": TOPIC, "ce-source": "/aex/verification", "content-type": "application/json"}
ROUNDS = 5
DATA = b'{"work_id": "work_1", "ok": true, "problems": [], "warnings": []}' * 8


class Countdown:
    """Set once as many events were handled as were asked for."""

    def __init__(self) -> None:
        self._left = 0
        self._done = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._turn = threading.Lock()  # Google's client handles in several threads

    def expect(self, events: int) -> None:
        self._left = events
        self._done.clear()

    def count(self) -> None:
        with self._turn:
            self._left -= 1
            last = self._left == 0
        if last:
            self._loop.call_soon_threadsafe(self._done.set)

    async def over(self) -> None:
        async with asyncio.timeout(60):
            await self._done.wait()


@asynccontextmanager
async def our_side(emulator: str, at_a_time: int, events: int) -> AsyncIterator[Side]:
    bus, countdown = PubSubBus(new_project(), emulator=emulator), Countdown()

    async def receive(_: Delivery) -> Disposition:
        countdown.count()
        return Ack()

    async def run() -> int:
        countdown.expect(events)
        for _ in range(0, events, at_a_time):
            await bus.publish([Outgoing(TOPIC, Message(ATTRIBUTES, DATA)) for _ in range(at_a_time)])
        await countdown.over()
        return events

    consuming = asyncio.create_task(bus.consume(SERVICE, [TOPIC], receive, at_a_time))
    yield run
    consuming.cancel()
    await asyncio.wait({consuming})
    await bus.close()


@asynccontextmanager
async def their_side(emulator: str, at_a_time: int, events: int) -> AsyncIterator[Side]:
    project, countdown = new_project(), Countdown()
    topic, subscription = topic_path(project, TOPIC), subscription_path(project, subscription_id(TOPIC, SERVICE))
    filler = PubSubBus(project, emulator=emulator)
    await filler.ping()
    await filler.close()
    with pointed_at(emulator):
        subscriber = SubscriberClient()
    # Not the publisher of `google.cloud.pubsub_v1`: that one cuts its batches elsewhere, and waits to fill them.
    channel = grpc.insecure_channel(emulator)
    publisher = PublisherClient(transport=PublisherGrpcTransport(channel=channel))

    def handle(message: Any) -> None:
        countdown.count()
        message.ack()

    def publish() -> None:
        for _ in range(0, events, at_a_time):
            messages = [PubsubMessage(data=DATA, attributes=ATTRIBUTES) for _ in range(at_a_time)]
            publisher.publish(topic=topic, messages=messages)

    async def run() -> int:
        countdown.expect(events)
        await asyncio.to_thread(publish)
        await countdown.over()
        return events

    streaming = subscriber.subscribe(subscription, handle, flow_control=FlowControl(max_messages=3 * at_a_time))
    yield run
    streaming.cancel()
    await asyncio.to_thread(streaming.result, 20)
    channel.close()
    subscriber.close()


@contextmanager
def pointed_at(emulator: str) -> Iterator[None]:
    """Google's clients know their emulator by this variable alone."""
    os.environ["PUBSUB_EMULATOR_HOST"] = emulator
    try:
        yield
    finally:
        del os.environ["PUBSUB_EMULATOR_HOST"]


async def measure(emulator: str) -> list[Comparison]:
    """All comparisons, on one emulator."""
    found: list[Comparison] = []
    for at_a_time, events in ((1, 200), (16, 1_600)):
        async with our_side(emulator, at_a_time, events) as ours, their_side(emulator, at_a_time, events) as theirs:
            found.append(await compare(f"publish and handle, {at_a_time} at a time", ours, theirs, ROUNDS))
    return found


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as logs:
        emulator = PubSubEmulator(find_jars(os.environ), Path(logs))
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as services run
                found = runner.run(measure(emulator.host))
        finally:
            emulator.stop()
    sys.stdout.write(table(found, "events a second") + "\n")


if __name__ == "__main__":
    main()
