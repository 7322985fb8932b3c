"""The bus on Pub/Sub beside raw calls of Google's clients: `python -m tests.benchmarks.pubsub`.

Both sides publish the same events in the same batches, and handle them until the last one is acked.
"""

import asyncio
import os
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
from tests.benchmarks.harness import BenchRow, FigureUnit, Side, compare, format_table, print_line
from tests.emulators.emulators import new_project
from tests.emulators.jars import find_jars
from tests.emulators.pubsub import PubSubEmulator

TOPIC, SERVICE = "work.checked", "work-publisher"
ATTRIBUTES = {"ce-id": "evt_1", "ce-type": TOPIC, "ce-source": "/aex/verification", "content-type": "application/json"}
DATA = b'{"work_id": "work_1", "ok": true, "problems": [], "warnings": []}' * 8
ROUNDS = 5
_ROUND_S = 60


async def wait_for_messages(handled: threading.Semaphore, messages: int) -> None:
    """Wait until so many more messages were handled, in any thread."""

    def count() -> None:
        for _ in range(messages):
            assert handled.acquire(timeout=_ROUND_S), f"a message was not handled in {_ROUND_S} s"

    await asyncio.to_thread(count)


@asynccontextmanager
async def open_bus_side(emulator: str, batch: int, events: int) -> AsyncIterator[Side]:
    """Publish and consume with our bus."""
    bus, handled = PubSubBus(new_project(), emulator=emulator), threading.Semaphore(0)

    async def receive(_: Delivery) -> Disposition:
        handled.release()
        return Ack()

    async def run() -> int:
        for _ in range(0, events, batch):
            await bus.publish([Outgoing(TOPIC, Message(ATTRIBUTES, DATA)) for _ in range(batch)])
        await wait_for_messages(handled, events)
        return events

    consuming = asyncio.create_task(bus.consume(SERVICE, [TOPIC], receive, batch))
    yield run
    consuming.cancel()
    await asyncio.wait({consuming})
    await bus.close()


@asynccontextmanager
async def open_client_side(emulator: str, batch: int, events: int) -> AsyncIterator[Side]:
    """Publish and consume with Google's clients."""
    project, handled = new_project(), threading.Semaphore(0)
    topic, subscription = topic_path(project, TOPIC), subscription_path(project, subscription_id(TOPIC, SERVICE))
    setup = PubSubBus(project, emulator=emulator)
    await setup.ping()
    await setup.close()
    os.environ["PUBSUB_EMULATOR_HOST"] = emulator  # the only setting that Google's client reads
    subscriber = SubscriberClient()
    del os.environ["PUBSUB_EMULATOR_HOST"]
    # The publisher of `google.cloud.pubsub_v1` would cut other batches, and wait to fill them.
    channel = grpc.insecure_channel(emulator)
    publisher = PublisherClient(transport=PublisherGrpcTransport(channel=channel))

    def handle(message: Any) -> None:
        handled.release()
        message.ack()

    def publish() -> None:
        for _ in range(0, events, batch):
            messages = [PubsubMessage(data=DATA, attributes=ATTRIBUTES) for _ in range(batch)]
            publisher.publish(topic=topic, messages=messages)

    async def run() -> int:
        await asyncio.to_thread(publish)
        await wait_for_messages(handled, events)
        return events

    streaming = subscriber.subscribe(subscription, handle, flow_control=FlowControl(max_messages=3 * batch))
    yield run
    streaming.cancel()
    await asyncio.to_thread(streaming.result, 20)
    channel.close()
    subscriber.close()


async def measure_bus(emulator: str) -> list[BenchRow]:
    """Return a row per batch size."""
    rows = []
    for batch, events in ((1, 200), (16, 1_600)):
        async with open_bus_side(emulator, batch, events) as own, open_client_side(emulator, batch, events) as baseline:
            rates = await compare(own, baseline, ROUNDS)
        name = f"publish and handle, {batch} at a time"
        rows.append(BenchRow(name, "google-cloud-pubsub", *rates, None, FigureUnit.RATE))
    return rows


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as logs:
        emulator = PubSubEmulator(find_jars(os.environ), Path(logs))
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as in the services
                print_line(format_table(runner.run(measure_bus(emulator.host))))
        finally:
            emulator.stop()


if __name__ == "__main__":
    main()
