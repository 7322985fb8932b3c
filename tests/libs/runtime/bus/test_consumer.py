import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from structlog.contextvars import get_contextvars
from structlog.testing import capture_logs

from aex_models.events import Event, UnreadableEvent, WorkChecked
from aex_runtime.blobs.port import BlobUnavailable
from aex_runtime.bus.consumer import Consumer, ConsumerPolicy
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Ack, BusUnavailable, Delivery, Message, Outgoing, Retry
from aex_runtime.bus.wire import encode_event
from aex_runtime.clock import SetClock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.errors import Conflict
from aex_runtime.ids import SeededIds
from aex_runtime.records import EventHandler, Poison, RetryLater
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Contention, Store, StoreUnavailable
from aex_runtime.store.table import RecordOfNewerVersion
from aex_runtime.telemetry import current_trace_context
from aex_runtime.tracing.sdk import create_recording_tracers
from aex_runtime.tracing.spans import MessageSpans
from tests.libs.runtime.background import START, TOPIC, FailingStore, eventually_async, later, running

SERVICE = "work-publisher"
SECRET = "canary-7f3a"
OTHER = "outcome.verified"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def event(subject: str = "ctr_1", **data: object) -> Event:
    plain = WorkChecked(work_id="work_1", ok=True).model_dump(mode="json")
    return Event(
        id="evt_1", type=TOPIC, source="/aex/verification", subject=subject, time=START, traceparent=TRACE,
        data=plain | data,
    )  # fmt: skip


def delivery(of: Event | Message, attempt: int = 1, topic: str = TOPIC) -> Delivery:
    return Delivery(topic, of if isinstance(of, Message) else encode_event(of), attempt)


class Harness:
    def __init__(
        self, handler: EventHandler, store: Store | None = None, max_deliveries: int = 3, **options: Any
    ) -> None:
        self.clock = SetClock(later(seconds=5))
        self.bus = MemoryBus(self.clock)
        self.store = store or MemoryStore()
        self.dead_letters = DeadLetters(SERVICE, self.store, self.clock)
        self.policy = ConsumerPolicy(max_deliveries=max_deliveries)
        options["policy"], ids = self.policy, SeededIds(1)
        self.consumer = Consumer(SERVICE, self.bus, self.dead_letters, self.clock, ids, {TOPIC: handler}, **options)

    async def reasons(self) -> list[str]:
        return [letter.reason for letter in (await self.dead_letters.list()).items]


def failing(error: Exception) -> EventHandler:
    async def handler(_: Event) -> None:
        raise error

    return handler


async def succeed(_: Event) -> None:
    return None


async def test_event_reaches_its_handler_as_it_was_sent_and_is_acked() -> None:
    handled: list[Event] = []

    async def handler(event: Event) -> None:
        handled.append(event)

    harness = Harness(handler)
    sent = [event(), event(added_later="by a newer publisher")]
    assert [await harness.consumer.handle_delivery(delivery(each)) for each in sent] == [Ack(), Ack()]
    assert handled == sent
    assert await harness.reasons() == []


async def test_handler_runs_in_the_context_of_its_event() -> None:
    seen: list[dict[str, object]] = []

    async def handler(_: Event) -> None:
        seen.append({**get_contextvars(), **current_trace_context()})

    consumer = Harness(handler).consumer
    await consumer.handle_delivery(delivery(event("ctr_1")))
    await consumer.handle_delivery(delivery(event("work_1")))
    assert seen[0].pop("traceparent") != TRACE
    assert seen[0] == {"event_id": "evt_1", "event_type": TOPIC, "contract_id": "ctr_1", "work_id": "work_1"}
    assert str(seen[1].pop("traceparent")).split("-")[1] == TRACE.split("-")[1]
    assert "contract_id" not in seen[1]
    assert get_contextvars() == {}


async def test_each_delivery_is_a_span_with_its_result() -> None:
    exporter = InMemorySpanExporter()
    spans = MessageSpans(SERVICE, create_recording_tracers(SERVICE, [SimpleSpanProcessor(exporter)]))
    for attempt, handler in ((1, succeed), (2, failing(ValueError(SECRET)))):
        await Harness(handler, spans=spans).consumer.handle_delivery(delivery(event(), attempt))
    done, retried = exporter.get_finished_spans()
    assert (done.name, done.kind) == ("process work.checked", SpanKind.CONSUMER)
    assert done.parent is not None
    assert f"00-{done.parent.trace_id:032x}-{done.parent.span_id:016x}-01" == TRACE
    attributes, status = dict(retried.attributes or {}), retried.status.status_code
    assert (status, done.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    expected = {"aex.disposition": "retried", "aex.delivery_attempt": 2, "messaging.message.id": "evt_1"}
    assert expected.items() <= attributes.items()
    assert SECRET not in "".join(span.to_json() for span in (done, retried))


@pytest.mark.parametrize(
    ("message", "topic", "reason"),
    [
        (Message({}, b"{}"), TOPIC, "undecodable: attributes are missing: ce-specversion"),
        (Message(encode_event(event()).attributes, b"{"), TOPIC, "undecodable: data is not JSON"),
        (encode_event(event(ok="perhaps")), TOPIC, "data: ok: bool_parsing"),
        (encode_event(event(ok=SECRET)), TOPIC, "data: ok: bool_parsing"),
        (encode_event(event()), "contract.cancelled", "ce-type is not the topic"),
        (encode_event(event().model_copy(update={"type": OTHER})), OTHER, "this service has no handler"),
    ],
)
async def test_unreadable_message_becomes_an_unchanged_dead_letter(message: Message, topic: str, reason: str) -> None:
    harness = Harness(succeed)
    assert await harness.consumer.handle_delivery(delivery(message, topic=topic)) == Ack()
    (letter,) = (await harness.dead_letters.list()).items
    _, wire = await harness.dead_letters.get(letter.id)
    assert letter.reason.startswith(reason)
    assert SECRET not in letter.reason
    assert Message(wire.attributes, wire.data) == message


@pytest.mark.parametrize("error", [Poison("no such contract"), UnreadableEvent("no such contract")])
async def test_permanent_failure_becomes_a_dead_letter_at_once(error: Exception) -> None:
    harness = Harness(failing(error))
    assert await harness.consumer.handle_delivery(delivery(event())) == Ack()
    (letter,) = (await harness.dead_letters.list()).items
    assert (letter.reason, letter.event_id, letter.subject) == ("no such contract", "evt_1", "ctr_1")


async def test_failure_is_retried_ever_more_slowly_with_jitter() -> None:
    harness = Harness(failing(RuntimeError("broken")), max_deliveries=100)
    delays: list[timedelta] = []
    for attempt in range(1, 31):
        disposition = await harness.consumer.handle_delivery(delivery(event(), attempt))
        assert isinstance(disposition, Retry)
        assert disposition.counted
        delays.append(disposition.delay)
    assert timedelta(milliseconds=250) <= delays[0] <= timedelta(milliseconds=500)
    assert delays[0] < delays[2] < delays[4] < delays[6]
    assert max(delays) <= harness.policy.backoff.cap
    assert len(set(delays[12:])) > 10


@pytest.mark.parametrize(
    "error", [RuntimeError("x"), Conflict("wrong_state", "x"), RetryLater(timedelta(1), "not yet")]
)
async def test_twelfth_failed_delivery_becomes_a_dead_letter(error: Exception) -> None:
    harness = Harness(failing(error), max_deliveries=ConsumerPolicy().max_deliveries)
    assert isinstance(await harness.consumer.handle_delivery(delivery(event(), 11)), Retry)
    assert await harness.consumer.handle_delivery(delivery(event(), 12)) == Ack()
    (reason,) = await harness.reasons()
    assert reason.startswith("gave up after 12 deliveries: ")


@pytest.mark.parametrize(
    ("attempt", "died", "reasons"),
    [
        (30, 0, []),
        (31, 0, ["30 deliveries had no result"]),
        (6, 4, []),
        (6, 5, ["the process died in 5 deliveries in a row: its handler kills the process"]),
    ],
)
async def test_event_without_results_becomes_a_dead_letter(attempt: int, died: int, reasons: list[str]) -> None:
    handled: list[Event] = []

    async def handler(event: Event) -> None:
        handled.append(event)

    harness = Harness(handler)
    assert await harness.consumer.handle_delivery(replace(delivery(event(), attempt), died=died)) == Ack()
    assert await harness.reasons() == reasons
    assert len(handled) == (not reasons)


async def test_handler_chooses_the_delay_of_its_event() -> None:
    harness = Harness(failing(RetryLater(timedelta(seconds=7), "the award is not here yet")))
    assert await harness.consumer.handle_delivery(delivery(event())) == Retry(timedelta(seconds=7))


@pytest.mark.parametrize("error", [StoreUnavailable, Contention, RecordOfNewerVersion, BusUnavailable, BlobUnavailable])
async def test_outage_is_waited_out_uncounted(error: type[Exception]) -> None:
    harness = Harness(failing(error("x")))
    for _ in range(20):
        disposition = await harness.consumer.handle_delivery(delivery(event(), attempt=3))
        assert isinstance(disposition, Retry)
        assert not disposition.counted
        assert timedelta() < disposition.delay <= harness.policy.outage.cap
    assert await harness.reasons() == []


async def test_message_remains_until_its_dead_letter_is_written() -> None:
    store = FailingStore(MemoryStore())
    harness = Harness(failing(Poison("no such contract")), store)
    store.down = True
    disposition = await harness.consumer.handle_delivery(delivery(event()))
    assert isinstance(disposition, Retry)
    assert not disposition.counted
    store.down = False
    assert await harness.consumer.handle_delivery(delivery(event())) == Ack()
    assert await harness.reasons() == ["no such contract"]


async def test_retries_are_logged_without_messages_of_exceptions() -> None:
    harness = Harness(failing(ValueError(f"cannot parse {SECRET}")), max_deliveries=2)
    with capture_logs() as logs:
        await harness.consumer.handle_delivery(delivery(event(), 1))
        await harness.consumer.handle_delivery(delivery(event(), 2))
    (retried,) = [entry for entry in logs if entry["event"] == "event_retried"]
    assert retried["reason"].startswith("ValueError at test_consumer.py:")
    assert retried["attempt"] == 1
    assert SECRET not in repr(logs) + repr(await harness.reasons())


async def is_acked(harness: Harness) -> bool:
    return await harness.bus.count_unacked(SERVICE) == 0


async def test_running_consumer_works_through_its_subscriptions() -> None:
    handled: list[str] = []

    async def fail_first(event: Event) -> None:
        handled.append(event.id)
        if len(handled) == 1:
            raise StoreUnavailable("the store is down")

    harness = Harness(fail_first)
    async with running(harness.consumer.run()):
        await harness.bus.publish([Outgoing(TOPIC, encode_event(event()))])
        while len(handled) < 2:
            harness.clock.advance(timedelta(seconds=15))
            await asyncio.sleep(0.01)
        await eventually_async(partial(is_acked, harness))
