"""The sweep publishes what other processes left behind."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from aex_runtime.bus.port import Outgoing
from aex_runtime.bus.wire import decode
from aex_runtime.clock import SetClock
from aex_runtime.leases import Leases
from aex_runtime.outbox_entry import outbox_table
from aex_runtime.store.port import Store, Transaction
from aex_runtime.store.table import RecordOfNewerVersion
from tests.libs.runtime.background import SERVICE, RecordingBus, eventually_async, running
from tests.libs.runtime.outbox.process import GRACE, Process, empty, rows


async def test_published_message_is_the_event_that_was_emitted(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    process, sent = Process(each_store, bus, clock), list[Outgoing]()
    await process.emit("work_1")
    (stored,) = await outbox_table(SERVICE).find(each_store, order="created_at")

    class Keeping(RecordingBus):
        async def publish(self, messages: Sequence[Outgoing]) -> None:
            sent.extend(messages)

    clock.advance(GRACE)
    await Process(each_store, Keeping(), clock, "b").pump.sweep()
    assert [(each.topic, decode(each.message)) for each in sent] == [("work.checked", stored.record.event)]


async def test_event_committed_before_a_crash_is_published_once_by_the_sweep(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    crashed = Process(each_store, bus, clock)
    await crashed.emit("work_1")
    clock.advance(GRACE)
    survivor = Process(each_store, bus, clock, "b")
    async with running(survivor.pump.run()):
        await eventually_async(empty(each_store))
        await asyncio.sleep(0.05)
    assert bus.published == ["work_1"]


async def test_sweep_leaves_what_is_fresh_to_the_process_that_committed_it(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    await Process(each_store, bus, clock).emit("work_1")
    sweeper = Process(each_store, bus, clock, "b").pump
    clock.advance(GRACE - timedelta(microseconds=1))
    assert await sweeper.sweep() == 0
    clock.advance(timedelta(microseconds=1))
    assert await sweeper.sweep() == 1


async def test_sweep_leaves_what_its_own_process_is_about_to_publish(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    process = Process(each_store, bus, clock)
    await process.emit("work_1")
    clock.advance(GRACE)
    assert await process.pump.sweep() == 0
    assert await process.pump.flush() == 1
    assert bus.published == ["work_1"]


async def test_sweep_publishes_all_pages_oldest_first(each_store: Store, bus: RecordingBus, clock: SetClock) -> None:
    crashed = Process(each_store, bus, clock)
    names = [f"work_{number}" for number in range(10)]
    for name in names:
        await crashed.emit(name)
        clock.advance(timedelta(milliseconds=1))
    clock.advance(GRACE)
    assert await Process(each_store, bus, clock, "b").pump.sweep() == 10
    assert bus.published == names
    assert await rows(each_store) == 0


async def test_only_one_of_two_processes_sweeps(each_store: Store, bus: RecordingBus, clock: SetClock) -> None:
    await Process(each_store, bus, clock, "crashed").emit("work_1", "work_2")
    clock.advance(GRACE)
    first, second = Process(each_store, bus, clock, "b"), Process(each_store, bus, clock, "c")
    async with running(first.pump.run()), running(second.pump.run()):
        await eventually_async(empty(each_store))
        await asyncio.sleep(0.05)
    assert sorted(bus.published) == ["work_1", "work_2"]


async def test_refused_event_stays_and_holds_up_no_other(each_store: Store, bus: RecordingBus, clock: SetClock) -> None:
    crashed = Process(each_store, bus, clock)
    bus.refused = frozenset({"work_1", "work_4"})
    for number in range(8):
        await crashed.emit(f"work_{number}")
        clock.advance(timedelta(milliseconds=1))
    clock.advance(GRACE)
    survivor = Process(each_store, bus, clock, "b")
    assert await survivor.pump.sweep() == 6
    assert bus.published == [f"work_{number}" for number in (0, 2, 3, 5, 6, 7)]
    assert await rows(each_store) == 2
    bus.refused = frozenset()
    assert await survivor.pump.sweep() == 2


async def test_a_pump_that_cannot_read_an_event_of_a_newer_version_leaves_the_lease_to_others(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    older, newer = Process(each_store, bus, clock), Leases(SERVICE, each_store, clock, "b")
    await older.emit("work_1")
    table = outbox_table(SERVICE)
    (stored,) = await table.find(each_store, order="created_at")

    async def add_a_field(transaction: Transaction) -> None:
        body = stored.document.body.removesuffix(b"}") + b',"later":1}'
        transaction.put(table.collection, stored.document.key, body, stored.document.fields)

    await each_store.transact(add_a_field)
    clock.advance(GRACE)
    survivor = Process(each_store, bus, clock, "c")
    with pytest.RaisesGroup(RecordOfNewerVersion, flatten_subgroups=True):
        await survivor.pump.run()
    assert await newer.acquire("outbox", timedelta(seconds=1)) is not None
    assert await rows(each_store) == 1
