"""What is committed is published, whatever the bus and the store do meanwhile."""

import asyncio
from datetime import timedelta

import pytest

from aex_runtime.bus.port import BusUnavailable
from aex_runtime.clock import SetClock
from aex_runtime.outbox import OutboxPolicy
from aex_runtime.store.port import Store, StoreUnavailable
from tests.bus.messages import eventually, stop
from tests.libs.runtime.background import FailingStore, RecordingBus, eventually_async, running
from tests.libs.runtime.outbox.process import GRACE, Process, empty, rows


async def test_committed_events_are_published_at_once_and_forgotten(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    process = Process(each_store, bus, clock)
    async with running(process.pump.run()):
        await process.emit("work_1", "work_2")
        await eventually(lambda: bus.published == ["work_1", "work_2"])
        await eventually_async(empty(each_store))
    assert bus.published == ["work_1", "work_2"]


async def test_events_wait_while_the_bus_is_down_and_go_once_it_is_up(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    process = Process(each_store, bus, clock)
    bus.down = True
    async with running(process.pump.run()):
        await process.emit("work_1")
        await process.emit("work_2")
        await eventually(lambda: bus.calls >= 2)
        assert bus.published == []
        bus.down = False
        await eventually(lambda: bus.published == ["work_1", "work_2"])
        await eventually_async(empty(each_store))


async def test_bus_that_is_down_is_not_hammered(each_store: Store, bus: RecordingBus, clock: SetClock) -> None:
    process = Process(each_store, bus, clock)
    bus.down = True
    async with running(process.pump.run()):
        for number in range(20):
            await process.emit(f"work_{number}")
        await asyncio.sleep(0.3)
        assert 1 <= bus.calls <= 4


async def test_stopping_pump_publishes_and_forgets_what_it_knows_of(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    process = Process(each_store, bus, clock)
    task = asyncio.create_task(process.pump.run())
    await asyncio.sleep(0)
    await process.emit(*(f"work_{number}" for number in range(10)))
    await stop(task)
    assert len(bus.published) == 10
    assert await rows(each_store) == 0


async def test_stopping_pump_leaves_to_the_sweep_what_the_bus_does_not_take(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    process = Process(each_store, bus, clock)
    bus.down = True
    async with running(process.pump.run()):
        await process.emit("work_1")
    bus.down = False
    clock.advance(timedelta(minutes=1))
    assert await Process(each_store, bus, clock, "b").pump.sweep() == 1


async def test_more_events_than_memory_holds_are_left_to_the_sweep(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    process = Process(each_store, bus, clock, policy=OutboxPolicy(max_waiting=2))
    await process.emit("work_1", "work_2", "work_3")
    assert await process.pump.flush() == 2
    clock.advance(GRACE)
    assert await process.pump.sweep() == 1
    assert bus.published == ["work_1", "work_2", "work_3"]


async def test_rows_that_cannot_be_deleted_are_deleted_later(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    store = FailingStore(each_store)
    process = Process(store, bus, clock)
    async with running(process.pump.run()):
        await process.emit("work_1")
        store.down = True
        await eventually(lambda: bus.published == ["work_1"])
        await asyncio.sleep(0.05)
        store.down = False
        await eventually_async(empty(each_store))
    assert bus.published == ["work_1"]


async def test_steps_tell_of_an_outage(each_store: Store, bus: RecordingBus, clock: SetClock) -> None:
    store = FailingStore(each_store)
    process = Process(store, bus, clock)
    await process.emit("work_1")
    bus.down = True
    with pytest.raises(BusUnavailable):
        await process.pump.flush()
    bus.down, store.down = False, True
    with pytest.raises(StoreUnavailable):
        await process.pump.sweep()
