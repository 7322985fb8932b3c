"""Events that the bus refuses are parked, replayed and discarded; the pump's memory is bounded."""

from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from aex_runtime.bus.dataref import EventData
from aex_runtime.outbox_parked import NoSuchParkedEvent
from tests.libs.runtime.background import running
from tests.libs.runtime.outbox.process import GRACE, QUICK, Outbox
from tests.parts.blobs import create_memory_blobs


async def park(outbox: Outbox, name: str = "work_1") -> str:
    """Emit an event that the bus refuses; return its id."""
    outbox.clock.advance(timedelta(milliseconds=1))
    outbox.bus.refused = frozenset({name})
    process = outbox.process()
    await process.emit(name)
    await process.pump.publish_waiting()
    outbox.bus.refused = frozenset()
    return (await outbox.parked.list(1)).items[0].record.event.id


async def test_refused_event_is_parked_at_once_with_an_alarm(each_outbox: Outbox) -> None:
    with capture_logs() as logs:
        event_id = await park(each_outbox)
    stored = (await each_outbox.parked.get(event_id)).record
    assert (stored.tries, stored.parked_at, stored.event.subject) == (1, each_outbox.clock.now(), "work_1")
    assert await each_outbox.is_empty()
    [line] = [each for each in logs if each["event"] == "event_parked"]
    assert (line["alarm"], line["work_id"], line["log_level"]) == (True, "work_1", "critical")


async def test_replayed_event_is_published_and_counts_its_tries(each_outbox: Outbox) -> None:
    event_id = await park(each_outbox)
    await each_outbox.parked.replay(event_id, EventData(create_memory_blobs()))
    assert await each_outbox.parked.count(10) == 0
    each_outbox.bus.refused = frozenset({"work_1"})
    each_outbox.clock.advance(GRACE + timedelta(seconds=1))
    assert await each_outbox.process("b").pump.publish_overdue_from_store() == 0
    assert (await each_outbox.parked.get(event_id)).record.tries == 2
    each_outbox.bus.refused = frozenset()
    await each_outbox.parked.replay(event_id, EventData(create_memory_blobs()))
    each_outbox.clock.advance(GRACE + timedelta(seconds=1))
    assert await each_outbox.process("c").pump.publish_overdue_from_store() == 1
    assert each_outbox.bus.published == ["work_1"]


async def test_discarded_event_is_gone_and_audited(outbox: Outbox) -> None:
    event_id = await park(outbox)
    with capture_logs() as logs:
        await outbox.parked.discard(event_id, "sent by hand", "ops")
    assert [(each["audit"], each["by"], each["reason"]) for each in logs] == [(True, "ops", "sent by hand")]
    for act in (outbox.parked.get(event_id), outbox.parked.discard(event_id, "x", "ops")):
        with pytest.raises(NoSuchParkedEvent):
            await act
    with pytest.raises(NoSuchParkedEvent):
        await outbox.parked.replay(event_id, EventData(create_memory_blobs()))


async def test_parked_events_are_listed_in_pages_and_counted(outbox: Outbox) -> None:
    ids = [await park(outbox, f"work_{number}") for number in range(5)]
    newest = await park(outbox, "work_9")
    seen, after = [], None
    while (page := await outbox.parked.list(2, after)).items:
        seen += [each.document.key for each in page.items]
        after = page.next_after
    assert seen[0] == newest
    assert sorted(seen) == sorted([*ids, newest])
    assert (await outbox.parked.count(4), await outbox.parked.count(100)) == (4, 6)


async def test_memory_holds_events_up_to_its_bytes_and_the_sweep_publishes_the_rest(outbox: Outbox) -> None:
    process = outbox.process(policy=replace(QUICK, max_waiting_bytes=1_500))
    names = [f"work_{number}" for number in range(10)]
    await process.emit(*names)
    promptly = await process.pump.publish_waiting()
    assert 0 < promptly < 10
    outbox.clock.advance(GRACE)
    assert await process.pump.publish_overdue_from_store() == 10 - promptly
    assert sorted(outbox.bus.published) == names


async def test_pages_of_the_sweep_end_by_bytes_and_lose_no_event(each_outbox: Outbox) -> None:
    names = [f"work_{number}" for number in range(7)]
    await each_outbox.process().emit(*names)
    each_outbox.clock.advance(GRACE)
    assert await each_outbox.process("b", replace(QUICK, page_bytes=1)).pump.publish_overdue_from_store() == 7
    assert sorted(each_outbox.bus.published) == names
    assert await each_outbox.is_empty()


async def test_running_pump_publishes_others_beside_a_refused_event(outbox: Outbox) -> None:
    outbox.bus.refused = frozenset({"work_1"})
    process = outbox.process()
    async with running(process.pump.run()):
        await process.emit("work_0", "work_1", "work_2")
    assert outbox.bus.published == ["work_0", "work_2"]
    assert await outbox.parked.count(10) == 1
