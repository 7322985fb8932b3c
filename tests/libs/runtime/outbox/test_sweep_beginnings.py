from datetime import timedelta

import pytest

from aex_runtime.bus.port import BusUnavailable
from aex_runtime.clock import epoch_micros
from aex_runtime.low_watermark import FULL_SCAN_INTERVAL, MARGIN
from tests.libs.runtime.background import START, RecordingStore, eventually_async, lower_bound, running
from tests.libs.runtime.outbox.process import Outbox

SECOND = timedelta(seconds=1)


async def test_sweep_begins_at_the_end_of_the_last_one(outbox: Outbox) -> None:
    outbox.store = store = RecordingStore(outbox.store)
    other, sweeper = outbox.process(), outbox.process("b").pump
    for seconds in range(20):
        await other.emit(*(f"work_{seconds}_{number}" for number in range(4)))
        outbox.clock.advance(SECOND)
        await sweeper.sweep()
        start = None if seconds == 0 else epoch_micros(outbox.clock.now() - SECOND - MARGIN)
        assert set(map(lower_bound, store.take_queries())) == {start}
    assert len(outbox.bus.published) == 19 * 4  # the others are younger than the grace


async def test_sweep_retries_refused_events(each_outbox: Outbox) -> None:
    outbox, sweeper = each_outbox, each_outbox.process("b").pump
    outbox.bus.refused = frozenset({"work_1", "work_5"})
    await outbox.emit_each(outbox.process(), [f"work_{number}" for number in range(8)], SECOND)
    outbox.clock.advance(MARGIN)
    assert await sweeper.sweep() == 6
    for _ in range(9):
        outbox.clock.advance(MARGIN / 4)
        assert await sweeper.sweep() == 0
    outbox.bus.refused = frozenset()
    assert await sweeper.sweep() == 2


async def test_sweep_continues_after_an_outage(outbox: Outbox) -> None:
    outbox.store = store = RecordingStore(outbox.store)
    sweeper, names = outbox.process("b").pump, [f"work_{number}" for number in range(9)]
    await outbox.emit_each(outbox.process(), names, SECOND)
    outbox.clock.advance(MARGIN)
    outbox.bus.down_after = 2
    with pytest.raises(BusUnavailable):
        await sweeper.sweep()
    store.take_queries()
    outbox.bus.down_after = None
    assert await sweeper.sweep() == 3
    assert lower_bound(store.take_queries()[0]) == epoch_micros(START + 5 * SECOND)
    assert outbox.bus.published == names


async def test_late_commit_of_another_process_is_swept_at_once(each_outbox: Outbox) -> None:
    sweeper = each_outbox.process("b").pump
    for _ in range(3):
        assert await sweeper.sweep() == 0
        await each_outbox.process_behind(MARGIN).emit("work_1")
        each_outbox.clock.advance(SECOND)
        assert await sweeper.sweep() == 1


async def test_very_late_commit_is_swept_within_a_minute(outbox: Outbox) -> None:
    sweeper = outbox.process("b").pump
    await sweeper.sweep()
    await outbox.process_behind(timedelta(hours=1)).emit("work_1")
    assert await sweeper.sweep() == 0
    outbox.clock.advance(FULL_SCAN_INTERVAL)
    assert await sweeper.sweep() == 1


async def test_new_leader_sweeps_from_the_beginning(outbox: Outbox) -> None:
    pump = outbox.process("b").pump
    await pump.sweep()
    await outbox.process_behind(timedelta(hours=1)).emit("work_1")
    async with running(pump.run()):
        await eventually_async(outbox.is_empty)
    assert outbox.bus.published == ["work_1"]
