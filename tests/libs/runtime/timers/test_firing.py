import pytest

from aex_runtime.clock import SetClock
from aex_runtime.records import Timer
from aex_runtime.store.port import Store
from aex_runtime.telemetry import continue_trace, current_trace_context
from tests.libs.runtime.background import START, later
from tests.libs.runtime.timers.process import Firings, Process

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


async def test_timer_fires_once_when_it_is_due_and_not_before(each_store: Store) -> None:
    firings = Firings()
    process = Process(each_store, SetClock(START), firings)
    await process.set("ctr_1", later(seconds=10))
    assert await process.sweeper.fire_due(later(seconds=9.999999)) == 0
    assert await process.sweeper.fire_due(later(seconds=10)) == 1
    assert await process.sweeper.fire_due(later(days=10)) == 0
    assert firings.subjects == ["ctr_1"]


async def test_timer_fires_in_the_trace_of_its_cause(store: Store) -> None:
    traces: list[str] = []

    async def note_trace(_: Timer) -> None:
        traces.append(current_trace_context()["traceparent"].split("-")[1])

    process = Process(store, SetClock(START), note_trace)
    with continue_trace(f"00-{TRACE}-00f067aa0ba902b7-01", "vendor=1", "award"):
        await process.set("ctr_1", later(seconds=1))
    await process.set("ctr_2", later(seconds=2))
    assert await process.sweeper.fire_due(later(seconds=2)) == 2
    assert traces[0] == TRACE
    assert traces[1] != TRACE


async def test_due_timers_fire_oldest_first(each_store: Store) -> None:
    firings = Firings()
    process = Process(each_store, SetClock(START), firings)
    for number in (3, 1, 2):
        await process.set(f"ctr_{number}", later(seconds=number))
    assert await process.sweeper.fire_due(later(minutes=1)) == 3
    assert firings.subjects == ["ctr_1", "ctr_2", "ctr_3"]


async def test_moved_timer_fires_at_its_new_time_and_cancelled_timer_never(each_store: Store) -> None:
    firings = Firings()
    process = Process(each_store, SetClock(START), firings)
    await process.set("ctr_1", later(seconds=1))
    await process.set("ctr_1", later(seconds=5))
    assert await process.sweeper.fire_due(later(seconds=2)) == 0
    await process.set("ctr_2", later(seconds=1))
    await process.cancel("ctr_2")
    assert await process.sweeper.fire_due(later(seconds=5)) == 1


@pytest.mark.parametrize("cancels", [True, False])
async def test_timer_set_while_it_fires_is_kept(store: Store, cancels: bool) -> None:
    async def set_timer_in_handler(_: Timer) -> None:
        if len(firings.fired) == 1:
            if cancels:
                await process.cancel("ctr_1")
            await process.set("ctr_1", later(seconds=9))

    firings = Firings(set_timer_in_handler)
    process = Process(store, SetClock(START), firings)
    await process.set("ctr_1", later(seconds=1))
    await process.sweeper.fire_due(later(seconds=1))
    assert await process.sweeper.fire_due(later(seconds=9)) == 1
    assert [timer.due_at for timer in firings.fired] == [later(seconds=1), later(seconds=9)]
    assert await process.timer("ctr_1") is None


async def test_next_due_is_the_first_timer_not_firing(store: Store) -> None:
    process = Process(store, SetClock(START), Firings())
    assert await process.sweeper.next_due_at() is None
    await process.set("ctr_2", later(seconds=2))
    await process.set("ctr_1", later(seconds=1))
    assert await process.sweeper.next_due_at() == later(seconds=1)
