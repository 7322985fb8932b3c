import asyncio
from datetime import timedelta

import pytest

from aex_runtime.bus.port import BusUnavailable
from aex_runtime.outbox import OutboxPolicy
from aex_runtime.store.port import StoreUnavailable
from tests.bus.messages import eventually, stop
from tests.libs.runtime.background import FailingStore, eventually_async, in_virtual_time, running
from tests.libs.runtime.outbox.process import GRACE, Outbox


async def test_committed_events_are_published_and_deleted_at_once(each_outbox: Outbox) -> None:
    outbox, process = each_outbox, each_outbox.process()
    async with running(process.pump.run()):
        await process.emit("work_1", "work_2")
        await eventually(lambda: outbox.bus.published == ["work_1", "work_2"])
        await eventually_async(outbox.is_empty)
    assert outbox.bus.published == ["work_1", "work_2"]


@in_virtual_time
async def test_events_wait_while_the_bus_is_down_and_is_called_rarely(outbox: Outbox) -> None:
    process, bus, names = outbox.process(), outbox.bus, [f"work_{number}" for number in range(20)]
    bus.down = True
    async with running(process.pump.run()):
        for name in names:
            await process.emit(name)
        await asyncio.sleep(0.3)
        assert 1 <= bus.calls <= 4
        assert bus.published == []
        bus.down = False
        await eventually(lambda: bus.published == names)
        await eventually_async(outbox.is_empty)


async def test_stopping_pump_publishes_and_deletes_its_events(each_outbox: Outbox) -> None:
    process = each_outbox.process()
    task = asyncio.create_task(process.pump.run())
    await asyncio.sleep(0)
    await process.emit(*(f"work_{number}" for number in range(10)))
    await stop(task)
    assert len(each_outbox.bus.published) == 10
    assert await each_outbox.is_empty()


@in_virtual_time
async def test_sweep_publishes_what_a_stopped_pump_could_not(outbox: Outbox) -> None:
    process = outbox.process()
    outbox.bus.down = True
    async with running(process.pump.run()):
        await process.emit("work_1")
    outbox.bus.down = False
    outbox.clock.advance(timedelta(minutes=1))
    assert await outbox.process("b").pump.publish_overdue_from_store() == 1


@in_virtual_time
async def test_sweep_publishes_events_beyond_the_memory_limit(outbox: Outbox) -> None:
    process = outbox.process(policy=OutboxPolicy(max_waiting=2))
    await process.emit("work_1", "work_2", "work_3")
    assert await process.pump.publish_waiting() == 2
    outbox.clock.advance(GRACE)
    assert await process.pump.publish_overdue_from_store() == 1
    assert outbox.bus.published == ["work_1", "work_2", "work_3"]


@in_virtual_time
async def test_rows_are_deleted_after_an_outage_of_the_store(outbox: Outbox) -> None:
    outbox.store = store = FailingStore(outbox.store)
    process = outbox.process()
    async with running(process.pump.run()):
        await process.emit("work_1")
        store.down = True
        await eventually(lambda: outbox.bus.published == ["work_1"])
        await asyncio.sleep(0.05)
        store.down = False
        await eventually_async(outbox.is_empty)
    assert outbox.bus.published == ["work_1"]


@in_virtual_time
async def test_flush_and_sweep_raise_outages(outbox: Outbox) -> None:
    outbox.store = store = FailingStore(outbox.store)
    process = outbox.process()
    await process.emit("work_1")
    outbox.bus.down = True
    with pytest.raises(BusUnavailable):
        await process.pump.publish_waiting()
    outbox.bus.down, store.down = False, True
    with pytest.raises(StoreUnavailable):
        await process.pump.publish_overdue_from_store()
