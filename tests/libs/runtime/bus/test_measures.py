from datetime import timedelta
from pathlib import Path

import pytest

from aex_runtime.background import Background
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Delivery, Message, ReportsQueueAge, Retry
from aex_runtime.bus.pubsub import PubSubBus
from aex_runtime.clock import SetClock
from aex_runtime.ids import SeededIds
from aex_runtime.records import EventHandler, Poison
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store, StoreUnavailable
from tests.bus.messages import Recorder, consuming, outgoing
from tests.libs.runtime.background import START, TOPIC, FailingStore
from tests.libs.runtime.bus.test_consumer import SERVICE, Harness, delivery, event, failing, succeed
from tests.parts.measured import RecordedMeasures

DELIVERIES, AGE, HANDLING = "aex_event_deliveries_total", "aex_event_age_seconds", "aex_event_handling_seconds"


async def measured_of(handler: EventHandler, *deliveries: Delivery, store: Store | None = None) -> RecordedMeasures:
    measured = RecordedMeasures()
    consumer = Harness(handler, store, measures=measured).consumer
    for each in deliveries:
        await consumer.handle_delivery(each)
    return measured


async def test_handled_event_is_counted_and_timed() -> None:
    measured = await measured_of(succeed, delivery(event()))
    assert measured.counted == {(DELIVERIES, TOPIC, "handled"): 1}
    assert measured.observed[AGE, TOPIC] == [5.0]
    (took,) = measured.observed[HANDLING, TOPIC]
    assert 0 < took < 5


@pytest.mark.parametrize(
    ("error", "results"),
    [
        (ValueError("broken"), {"retried": 2, "dead_letter": 1}),
        (StoreUnavailable("away"), {"waiting": 3}),
        (Poison("never"), {"dead_letter": 3}),
    ],
)
async def test_failure_is_counted_by_its_result_and_not_timed(error: Exception, results: dict[str, int]) -> None:
    deliveries = [delivery(event(), attempt) for attempt in (1, 2, 3)]
    measured = await measured_of(failing(error), *deliveries)
    assert measured.counted == {(DELIVERIES, TOPIC, result): count for result, count in results.items()}
    assert not measured.observed


async def test_undecodable_message_is_a_dead_letter_once_that_is_written() -> None:
    store, unreadable = FailingStore(MemoryStore()), Delivery(TOPIC, Message({}, b"?"), 1)
    for down, result in ((True, "waiting"), (False, "dead_letter")):
        store.down = down
        measured = await measured_of(succeed, unreadable, store=store)
        assert measured.counted == {(DELIVERIES, TOPIC, result): 1}


async def test_embedded_queue_reports_the_age_of_its_oldest_event(tmp_path: Path) -> None:
    clock = SetClock(START)
    bus = EmbeddedBus(tmp_path, clock)
    assert isinstance(bus, ReportsQueueAge)
    assert await bus.oldest_unacked_age_s(SERVICE) == 0
    await bus.publish([outgoing("first")])
    clock.advance(timedelta(seconds=30))
    await bus.publish([outgoing("second")])
    clock.advance(timedelta(seconds=5))
    assert await bus.oldest_unacked_age_s(SERVICE) == 35
    recorder = Recorder(Retry(timedelta(hours=1)))
    async with consuming(bus, SERVICE, recorder):
        await recorder.got(2)
    gauges = {each.name: each for each in Background(SERVICE, MemoryStore(), bus, clock, SeededIds(1)).gauges()}
    assert await gauges["aex_queue_oldest_seconds"].read() == 35  # delayed, not handled
    clock.advance(timedelta(hours=2))
    async with consuming(bus, SERVICE, recorder):
        await recorder.got(3)
    assert await bus.oldest_unacked_age_s(SERVICE) == 0
    await bus.close()


def test_pubsub_reports_no_queue_age() -> None:
    assert not hasattr(PubSubBus, "oldest_unacked_age_s")
