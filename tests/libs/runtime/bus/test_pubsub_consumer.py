import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from aex_models.backoff import Backoff
from aex_models.events import Event, WorkChecked
from aex_runtime.bus.consumer import Consumer, ConsumerPolicy
from aex_runtime.bus.port import Message, Outgoing
from aex_runtime.bus.pubsub import PubSubBus
from aex_runtime.bus.wire import encode
from aex_runtime.clock import WallClock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.ids import RandomIds
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import StoreUnavailable
from tests.bus.messages import PATIENCE_S, eventually
from tests.emulators.emulators import Emulators, new_project
from tests.libs.runtime.background import START, TOPIC, running

pytestmark = pytest.mark.emulator

SERVICE = "work-publisher"
QUICK = Backoff(first=timedelta(milliseconds=10), cap=timedelta(milliseconds=20))


@pytest.fixture
async def bus(emulators: Emulators) -> AsyncIterator[PubSubBus]:
    bus = PubSubBus(new_project(), emulator=emulators.pubsub.host)
    yield bus
    await bus.close()


def event(name: str) -> Event:
    data = WorkChecked(work_id=name, ok=True).model_dump(mode="json")
    return Event(id=name, type=TOPIC, source="/aex/verification", subject=name, time=START, data=data)


async def test_events_are_handled_waited_for_or_buried(bus: PubSubBus) -> None:
    handled: list[str] = []
    tries: dict[str, int] = {}

    async def handle(event: Event) -> None:
        tries[event.id] = tries.get(event.id, 0) + 1
        if event.id == "fails":
            raise RuntimeError("a defect")
        if event.id == "waits" and tries["waits"] <= 5:
            raise StoreUnavailable("the store is down")
        handled.append(event.id)

    dead_letters = DeadLetters(SERVICE, MemoryStore(), WallClock())
    policy = ConsumerPolicy(max_deliveries=3, backoff=QUICK, outage=QUICK)
    consumer = Consumer(SERVICE, bus, dead_letters, WallClock(), RandomIds(), {TOPIC: handle}, policy=policy)
    async with running(consumer.run()), asyncio.timeout(PATIENCE_S):
        await bus.publish([Outgoing(TOPIC, encode(event(name))) for name in ("good", "fails", "waits")])
        await bus.publish([Outgoing(TOPIC, Message({"ce-id": "no event"}, b"{}"))])
        await eventually(lambda: sorted(handled) == ["good", "waits"])
        while await dead_letters.count() < 2:  # noqa: ASYNC110 the store tells nobody
            await asyncio.sleep(0.01)
    assert tries == {"good": 1, "fails": 3, "waits": 6}
    reasons = sorted(letter.reason for letter in (await dead_letters.list()).items)
    assert [reason.partition(":")[0] for reason in reasons] == ["gave up after 3 deliveries", "undecodable"]
