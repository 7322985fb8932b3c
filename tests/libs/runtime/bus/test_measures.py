"""What became of each delivery is counted, and how long events took is timed, by topic."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from aex_models.events import Event, WorkChecked
from aex_runtime.bus.consumer import Consumer, ConsumerPolicy
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Delivery, Message, Retry
from aex_runtime.bus.pubsub import PubSubBus
from aex_runtime.bus.queue_age import tells_queue_age
from aex_runtime.bus.wire import encode
from aex_runtime.clock import SetClock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.handlers import EventHandler, Poison
from aex_runtime.ids import SeededIds
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store, StoreUnavailable
from tests.bus.messages import Recorder, consuming, outgoing
from tests.libs.runtime.background import START, TOPIC, FailingStore, later
from tests.parts.measured import Measured

SERVICE = "work-publisher"
DELIVERIES, AGE, HANDLING = "aex_event_deliveries_total", "aex_event_age_seconds", "aex_event_handling_seconds"
EVENT = Event(
    id="evt_1",
    type=TOPIC,
    source="/aex/verification",
    subject="ctr_1",
    time=START,
    data=WorkChecked(work_id="work_1", ok=True).model_dump(mode="json"),
)


async def succeed(_: Event) -> None:
    await asyncio.sleep(0.02)


def failing(error: Exception) -> EventHandler:
    async def handler(_: Event) -> None:
        raise error

    return handler


async def measured_of(handler: EventHandler, *deliveries: Delivery, store: Store | None = None) -> Measured:
    """What a consumer told that was given these, five seconds after the event's commit."""
    measured, clock = Measured(), SetClock(later(seconds=5))
    letters = DeadLetters(SERVICE, store or MemoryStore(), clock)
    policy = ConsumerPolicy(max_deliveries=3)
    bus, ids = MemoryBus(clock), SeededIds(1)
    consumer = Consumer(SERVICE, bus, letters, clock, ids, {TOPIC: handler}, policy=policy, measures=measured)
    for each in deliveries:
        await consumer.receive(each)
    return measured


async def test_an_event_that_is_handled_is_counted_and_timed() -> None:
    measured = await measured_of(succeed, Delivery(TOPIC, encode(EVENT), 1))
    assert measured.counted == {(DELIVERIES, TOPIC, "handled"): 1}
    assert measured.observed[AGE, TOPIC] == [5.0]
    (took,) = measured.observed[HANDLING, TOPIC]
    assert 0.015 < took < 5


@pytest.mark.parametrize(
    ("error", "results"),
    [
        (ValueError("broken"), {"retried": 2, "dead_letter": 1}),
        (StoreUnavailable("away"), {"waiting": 3}),
        (Poison("never"), {"dead_letter": 3}),
    ],
)
async def test_what_fails_is_counted_by_what_becomes_of_it_and_not_timed(
    error: Exception, results: dict[str, int]
) -> None:
    deliveries = [Delivery(TOPIC, encode(EVENT), attempt) for attempt in (1, 2, 3)]
    measured = await measured_of(failing(error), *deliveries)
    assert measured.counted == {(DELIVERIES, TOPIC, result): count for result, count in results.items()}
    assert not measured.observed


async def test_a_foreign_message_is_a_dead_letter_of_its_topic() -> None:
    measured = await measured_of(succeed, Delivery(TOPIC, Message({}, b"?"), 1))
    assert measured.counted == {(DELIVERIES, TOPIC, "dead_letter"): 1}


async def test_a_dead_letter_that_cannot_be_written_waits_and_is_none_yet() -> None:
    store = FailingStore(MemoryStore())
    store.down = True
    measured = await measured_of(failing(Poison("never")), Delivery(TOPIC, encode(EVENT), 1), store=store)
    assert measured.counted == {(DELIVERIES, TOPIC, "waiting"): 1}


async def test_the_embedded_queue_tells_how_long_its_first_event_has_waited(tmp_path: Path) -> None:
    clock = SetClock(START)
    bus = EmbeddedBus(tmp_path, clock)
    assert tells_queue_age(bus)
    assert await bus.oldest_unhandled_s(SERVICE) == 0
    await bus.publish([outgoing("first")])
    clock.advance(timedelta(seconds=30))
    await bus.publish([outgoing("second")])
    clock.advance(timedelta(seconds=5))
    assert await bus.oldest_unhandled_s(SERVICE) == 35
    recorder = Recorder(Retry(timedelta(hours=1)))
    async with consuming(bus, SERVICE, recorder):
        await recorder.got(2)
    assert await bus.oldest_unhandled_s(SERVICE) == 35  # put off is not handled
    clock.advance(timedelta(hours=2))
    async with consuming(bus, SERVICE, recorder):
        await recorder.got(3)
    assert await bus.oldest_unhandled_s(SERVICE) == 0
    await bus.close()


def test_of_what_waits_in_pubsub_google_tells() -> None:
    assert not tells_queue_age(PubSubBus)
