"""Where a sweep begins, and that it passes nothing."""

from datetime import timedelta

import pytest

from aex_runtime.bus.port import BusUnavailable
from aex_runtime.clock import SetClock, epoch_micros
from aex_runtime.outbox import OutboxPump
from aex_runtime.seen_clean import FULL_EVERY, MARGIN
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from tests.libs.runtime.background import START, AskedStore, RecordingBus, begins, eventually_async, running
from tests.libs.runtime.outbox.process import Process, empty


async def test_sweep_begins_where_the_last_one_ended(bus: RecordingBus, clock: SetClock) -> None:
    store = AskedStore(MemoryStore())
    other, sweeper = Process(store, bus, clock), Process(store, bus, clock, "b").pump
    for seconds in range(59):
        await other.emit(*(f"work_{seconds}_{number}" for number in range(4)))
        clock.advance(timedelta(seconds=1))
        await sweeper.sweep()
        looks = store.took()
        assert {begins(look) for look in looks} == {
            None if seconds == 0 else epoch_micros(clock.now() - timedelta(seconds=1) - MARGIN)
        }
    assert len(bus.published) == 58 * 4  # what is younger than the grace is still there


async def test_sweep_passes_none_of_what_the_bus_refused(each_store: Store, bus: RecordingBus, clock: SetClock) -> None:
    other, sweeper = Process(each_store, bus, clock), Process(each_store, bus, clock, "b").pump
    bus.refused = frozenset({"work_1", "work_5"})
    for number in range(8):
        await other.emit(f"work_{number}")
        clock.advance(timedelta(seconds=1))
    clock.advance(MARGIN)
    assert await sweeper.sweep() == 6
    for _ in range(9):
        clock.advance(MARGIN / 4)
        assert await sweeper.sweep() == 0
    bus.refused = frozenset()
    assert await sweeper.sweep() == 2


async def test_sweep_that_an_outage_ended_is_taken_up_where_it_ended(bus: RecordingBus, clock: SetClock) -> None:
    store = AskedStore(MemoryStore())
    other, sweeper = Process(store, bus, clock), Process(store, bus, clock, "b").pump
    for number in range(9):
        await other.emit(f"work_{number}")
        clock.advance(timedelta(seconds=1))
    clock.advance(MARGIN)
    bus.down_after = 2
    with pytest.raises(BusUnavailable):
        await sweeper.sweep()
    store.took()
    bus.down_after = None
    assert await sweeper.sweep() == 3
    assert begins(store.took()[0]) == epoch_micros(START + timedelta(seconds=5))
    assert bus.published == [f"work_{number}" for number in range(9)]


async def test_event_that_another_process_commits_late_is_swept_at_once(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    sweeper = Process(each_store, bus, clock, "b").pump
    for _ in range(3):
        assert await sweeper.sweep() == 0
        await Process(each_store, bus, SetClock(clock.now() - MARGIN)).emit("work_1")
        clock.advance(timedelta(seconds=1))
        assert await sweeper.sweep() == 1


async def pump_that_passed_an_event(store: Store, bus: RecordingBus, clock: SetClock) -> OutboxPump:
    """After its sweep, another process commits an event that is older than any sweep looks back."""
    pump = Process(store, bus, clock, "b").pump
    await pump.sweep()
    await Process(store, bus, SetClock(START - timedelta(hours=1))).emit("work_1")
    return pump


async def test_event_from_long_ago_is_swept_within_the_minute(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    sweeper = await pump_that_passed_an_event(each_store, bus, clock)
    assert await sweeper.sweep() == 0
    clock.advance(FULL_EVERY)
    assert await sweeper.sweep() == 1


async def test_who_takes_the_lease_sweeps_from_the_beginning(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    pump = await pump_that_passed_an_event(each_store, bus, clock)
    async with running(pump.run()):
        await eventually_async(empty(each_store))
    assert bus.published == ["work_1"]
