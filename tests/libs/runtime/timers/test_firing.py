"""A timer fires once, when it is due, unless it is cancelled or set anew."""

from aex_runtime.clock import SetClock
from aex_runtime.store.port import Store
from aex_runtime.telemetry import continue_trace, current_trace
from aex_runtime.timer_entry import Timer
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


async def test_timer_fires_in_the_trace_of_what_set_it(each_store: Store) -> None:
    traces: list[str] = []

    async def look(_: Timer) -> None:
        traces.append(current_trace()["traceparent"].split("-")[1])

    process = Process(each_store, SetClock(START), look)
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


async def test_timer_set_again_fires_at_its_new_time_alone(each_store: Store) -> None:
    firings = Firings()
    process = Process(each_store, SetClock(START), firings)
    await process.set("ctr_1", later(seconds=1))
    await process.set("ctr_1", later(seconds=5))
    assert await process.sweeper.fire_due(later(seconds=2)) == 0
    assert await process.sweeper.fire_due(later(seconds=5)) == 1


async def test_cancelled_timer_does_not_fire(each_store: Store) -> None:
    process = Process(each_store, SetClock(START), Firings())
    await process.set("ctr_1", later(seconds=1))
    await process.cancel("ctr_1")
    assert await process.sweeper.fire_due(later(seconds=2)) == 0


async def test_timer_set_anew_while_it_fires_is_not_lost(each_store: Store) -> None:
    async def set_anew(_: Timer) -> None:
        if len(firings.fired) == 1:
            await process.set("ctr_1", later(seconds=9))

    firings = Firings(set_anew)
    process = Process(each_store, SetClock(START), firings)
    await process.set("ctr_1", later(seconds=1))
    await process.sweeper.fire_due(later(seconds=1))
    assert await process.sweeper.fire_due(later(seconds=9)) == 1
    assert [timer.due_at for timer in firings.fired] == [later(seconds=1), later(seconds=9)]
    assert await process.timer("ctr_1") is None


async def test_timer_cancelled_and_set_anew_while_it_fires_is_not_lost(each_store: Store) -> None:
    async def set_anew(_: Timer) -> None:
        await process.cancel("ctr_1")
        await process.set("ctr_1", later(seconds=9))

    process = Process(each_store, SetClock(START), Firings(set_anew))
    await process.set("ctr_1", later(seconds=1))
    await process.sweeper.fire_due(later(seconds=1))
    timer = await process.timer("ctr_1")
    assert timer is not None
    assert timer.due_at == later(seconds=9)


async def test_next_due_tells_how_long_to_sleep(each_store: Store) -> None:
    process = Process(each_store, SetClock(START), Firings())
    assert await process.sweeper.next_due() is None
    await process.set("ctr_2", later(seconds=2))
    await process.set("ctr_1", later(seconds=1))
    assert await process.sweeper.next_due() == later(seconds=1)
