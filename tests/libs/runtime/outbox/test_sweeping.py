import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from aex_runtime.bus.port import BusUnavailable, Outgoing
from aex_runtime.bus.wire import decode_event
from aex_runtime.clock import epoch_micros
from aex_runtime.leases import Leases
from aex_runtime.low_watermark import FULL_SCAN_INTERVAL, MARGIN
from aex_runtime.records import outbox_table
from aex_runtime.store.port import Transaction
from aex_runtime.store.table import RecordOfNewerVersion
from tests.libs.runtime.background import (
    SERVICE,
    START,
    RecordingBus,
    RecordingStore,
    eventually_async,
    lower_bound,
    running,
)
from tests.libs.runtime.outbox.process import GRACE, Outbox

MS, SECOND = timedelta(milliseconds=1), timedelta(seconds=1)


async def test_published_message_is_the_emitted_event(outbox: Outbox) -> None:
    published = list[Outgoing]()
    await outbox.process().emit("work_1")
    (stored,) = await outbox_table(SERVICE).find(outbox.store, order="created_at")

    class KeepingBus(RecordingBus):
        async def publish(self, messages: Sequence[Outgoing]) -> None:
            published.extend(messages)

    outbox.clock.advance(GRACE)
    outbox.bus = KeepingBus()
    await outbox.process("b").pump.publish_overdue_from_store()
    assert [(each.topic, decode_event(each.message)) for each in published] == [("work.checked", stored.record.event)]


async def test_one_of_two_processes_publishes_the_events_of_a_crashed_one(each_outbox: Outbox) -> None:
    await each_outbox.process("crashed").emit("work_1", "work_2")
    each_outbox.clock.advance(GRACE)
    async with running(each_outbox.process("b").pump.run()), running(each_outbox.process("c").pump.run()):
        await eventually_async(each_outbox.is_empty)
        await asyncio.sleep(0.05)
    assert sorted(each_outbox.bus.published) == ["work_1", "work_2"]


async def test_sweep_leaves_fresh_events_to_their_process(outbox: Outbox) -> None:
    await outbox.process().emit("work_1")
    sweeper = outbox.process("b").pump
    outbox.clock.advance(GRACE - timedelta(microseconds=1))
    assert await sweeper.publish_overdue_from_store() == 0
    outbox.clock.advance(timedelta(microseconds=1))
    assert await sweeper.publish_overdue_from_store() == 1


async def test_sweep_skips_events_that_its_process_has_in_memory(outbox: Outbox) -> None:
    process = outbox.process()
    await process.emit("work_1")
    outbox.clock.advance(GRACE)
    assert await process.pump.publish_overdue_from_store() == 0
    assert await process.pump.publish_waiting() == 1
    assert outbox.bus.published == ["work_1"]


async def test_sweep_publishes_all_pages_oldest_first(each_outbox: Outbox) -> None:
    names = [f"work_{number}" for number in range(10)]
    await each_outbox.emit_each(each_outbox.process(), names, MS)
    each_outbox.clock.advance(GRACE)
    assert await each_outbox.process("b").pump.publish_overdue_from_store() == 10
    assert each_outbox.bus.published == names
    assert await each_outbox.is_empty()


async def test_refused_events_are_parked_and_delay_no_other(outbox: Outbox) -> None:
    outbox.bus.refused = frozenset({"work_1", "work_4"})
    await outbox.emit_each(outbox.process(), [f"work_{number}" for number in range(8)], MS)
    outbox.clock.advance(GRACE)
    survivor = outbox.process("b")
    assert await survivor.pump.publish_overdue_from_store() == 6
    assert outbox.bus.published == [f"work_{number}" for number in (0, 2, 3, 5, 6, 7)]
    assert (await outbox.rows(), await survivor.pump.publish_overdue_from_store()) == (0, 0)
    page = await outbox.parked.list()
    assert {(each.record.event.subject, each.record.tries) for each in page.items} == {("work_1", 1), ("work_4", 1)}


async def test_event_of_a_newer_version_ends_the_sweeper_and_its_lease(outbox: Outbox) -> None:
    store, table = outbox.store, outbox_table(SERVICE)
    await outbox.process().emit("work_1")
    (stored,) = await table.find(store, order="created_at")

    async def add_a_field(transaction: Transaction) -> None:
        body = stored.document.body.removesuffix(b"}") + b',"later":1}'
        transaction.put(table.collection, stored.document.key, body, stored.document.fields)

    await store.transact(add_a_field)
    outbox.clock.advance(GRACE)
    with pytest.RaisesGroup(RecordOfNewerVersion, flatten_subgroups=True):
        await outbox.process("c").pump.run()
    assert await Leases(SERVICE, store, outbox.clock, "b").acquire("outbox", timedelta(seconds=1)) is not None
    assert await outbox.rows() == 1


async def test_sweep_begins_at_the_end_of_the_last_one(outbox: Outbox) -> None:
    outbox.store = store = RecordingStore(outbox.store)
    other, sweeper = outbox.process(), outbox.process("b").pump
    for seconds in range(20):
        await other.emit(*(f"work_{seconds}_{number}" for number in range(4)))
        outbox.clock.advance(SECOND)
        await sweeper.publish_overdue_from_store()
        start = None if seconds == 0 else epoch_micros(outbox.clock.now() - SECOND - MARGIN)
        assert set(map(lower_bound, store.take_queries())) == {start}
    assert len(outbox.bus.published) == 19 * 4  # the others are younger than the grace


async def test_sweep_continues_after_an_outage(outbox: Outbox) -> None:
    outbox.store = store = RecordingStore(outbox.store)
    sweeper, names = outbox.process("b").pump, [f"work_{number}" for number in range(9)]
    await outbox.emit_each(outbox.process(), names, SECOND)
    outbox.clock.advance(MARGIN)
    outbox.bus.down_after = 2
    with pytest.raises(BusUnavailable):
        await sweeper.publish_overdue_from_store()
    store.take_queries()
    outbox.bus.down_after = None
    assert await sweeper.publish_overdue_from_store() == 3
    assert lower_bound(store.take_queries()[0]) == epoch_micros(START + 5 * SECOND)
    assert outbox.bus.published == names


async def test_very_late_commit_is_swept_within_a_minute(outbox: Outbox) -> None:
    sweeper = outbox.process("b").pump
    await sweeper.publish_overdue_from_store()
    await outbox.process_behind(timedelta(hours=1)).emit("work_1")
    assert await sweeper.publish_overdue_from_store() == 0
    outbox.clock.advance(FULL_SCAN_INTERVAL)
    assert await sweeper.publish_overdue_from_store() == 1


async def test_new_leader_sweeps_from_the_beginning(outbox: Outbox) -> None:
    pump = outbox.process("b").pump
    await pump.publish_overdue_from_store()
    await outbox.process_behind(timedelta(hours=1)).emit("work_1")
    async with running(pump.run()):
        await eventually_async(outbox.is_empty)
    assert outbox.bus.published == ["work_1"]
