"""Large events travel by reference: their data are a blob, and every consumer sees them whole."""

import pytest

from aex_models.events import Event
from aex_runtime.blobs.port import BlobUnavailable
from aex_runtime.bus.dataref import AREA, MAX_INLINE_BYTES, EventData
from aex_runtime.bus.port import Ack, Retry
from aex_runtime.bus.wire import DATAREF, decode_event, encode_event
from aex_runtime.clock import SetClock
from aex_runtime.store.memory import MemoryStore
from aex_runtime.unit_of_work import Committed, Unit, UnitOfWork
from tests.libs.runtime.background import SERVICE as PUBLISHER
from tests.libs.runtime.background import START, emit_checked
from tests.libs.runtime.bus.test_consumer import Harness, delivery, event
from tests.parts.blobs import FailingBlobs

_BARE = len(encode_event(event(note="")).data)
LARGE = event(note="x" * (MAX_INLINE_BYTES - _BARE + 1))


@pytest.fixture
def blobs() -> FailingBlobs:
    return FailingBlobs()


async def test_data_up_to_the_limit_stay_in_the_event(blobs: FailingBlobs) -> None:
    largest = event(note="x" * (MAX_INLINE_BYTES - _BARE))
    assert await EventData(blobs).store_if_large(largest) == largest
    assert blobs.puts == 0
    stored = await EventData(blobs).store_if_large(LARGE)
    assert (stored.data, blobs.puts) == ({}, 1)


async def test_message_carries_the_reference_and_no_data(blobs: FailingBlobs) -> None:
    stored = await EventData(blobs).store_if_large(LARGE)
    message = encode_event(stored)
    assert message.data == b""
    assert message.attributes[DATAREF].startswith(f"blob:{AREA}/")
    assert message.attributes[DATAREF].endswith(f"?size={MAX_INLINE_BYTES + 1}")
    assert decode_event(message) == stored
    loaded, inline = await EventData(blobs).load_if_referenced(stored, message)
    assert (loaded, decode_event(inline)) == (LARGE, LARGE)


async def test_consumer_passes_the_complete_event_to_its_handler(blobs: FailingBlobs) -> None:
    handled: list[Event] = []

    async def handler(received: Event) -> None:
        handled.append(received)

    harness = Harness(handler, event_data=EventData(blobs))
    stored = await EventData(blobs).store_if_large(LARGE)
    assert await harness.consumer.handle_delivery(delivery(stored)) == Ack()
    assert handled == [LARGE]


async def test_outage_of_the_blob_store_is_waited_out(blobs: FailingBlobs) -> None:
    harness = Harness(unreachable, event_data=EventData(blobs))
    stored = await EventData(blobs).store_if_large(LARGE)
    blobs.failure = BlobUnavailable("away")
    result = await harness.consumer.handle_delivery(delivery(stored, attempt=99))
    assert isinstance(result, Retry)
    assert not result.counted
    assert await harness.reasons() == []


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        (f"blob:{AREA}/{'a' * 64}?size=9", "event_data_missing"),
        (f"blob:records/{'a' * 64}?size=9", "event_dataref_invalid"),
        ("https://example.org/data", "event_dataref_invalid"),
    ],
)
async def test_reference_without_data_is_a_dead_letter(blobs: FailingBlobs, reference: str, reason: str) -> None:
    harness = Harness(unreachable, event_data=EventData(blobs))
    lost = LARGE.model_copy(update={"data": {}, "dataref": reference})
    assert await harness.consumer.handle_delivery(delivery(lost)) == Ack()
    assert await harness.reasons() == [reason]


async def test_other_bytes_under_the_reference_are_a_dead_letter(blobs: FailingBlobs) -> None:
    harness = Harness(unreachable, event_data=EventData(blobs))
    stored = await EventData(blobs).store_if_large(LARGE)
    smaller = stored.model_copy(update={"dataref": str(stored.dataref).replace("size=", "size=0000")[:-3]})
    assert await harness.consumer.handle_delivery(delivery(smaller)) == Ack()
    assert await harness.reasons() == ["event_data_corrupt"]
    blob = await blobs.put(AREA, b"[1]")
    listed = stored.model_copy(update={"dataref": f"blob:{AREA}/{blob.digest}?size=3"})
    assert await harness.consumer.handle_delivery(delivery(listed)) == Ack()
    assert "data is not a JSON object" in await harness.reasons()


async def test_dead_letter_of_a_large_event_holds_the_data(blobs: FailingBlobs) -> None:
    harness = Harness(raising, event_data=EventData(blobs), max_deliveries=1)
    stored = await EventData(blobs).store_if_large(LARGE)
    await harness.consumer.handle_delivery(delivery(stored))
    [letter] = (await harness.dead_letters.list()).items
    _, wire = await harness.dead_letters.get(letter.id)
    assert DATAREF not in wire.attributes
    assert wire.data == encode_event(LARGE).data


async def test_committed_large_event_is_stored_before_its_row() -> None:
    store, blobs, committed = MemoryStore(), FailingBlobs(), list[Committed]()
    work = UnitOfWork(PUBLISHER, store, SetClock(START), committed.append, event_data=EventData(blobs))

    async def emit_large(unit: Unit) -> None:
        await emit_checked("w" * 10)(unit)
        unit.events[0] = LARGE

    blobs.failure = BlobUnavailable("away")
    with pytest.raises(BlobUnavailable):
        await work.run(emit_large)
    assert committed == []
    blobs.failure = None
    await work.run(emit_large)
    [queued] = committed[0].queued
    assert queued.event.dataref is not None
    assert queued.size < 2_000


async def unreachable(_: Event) -> None:
    raise AssertionError("the handler must not be called")


async def raising(_: Event) -> None:
    raise ValueError("no")
