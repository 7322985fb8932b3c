import asyncio
from datetime import timedelta
from functools import partial

import pytest

from aex_runtime.clock import SetClock, epoch_micros
from aex_runtime.low_watermark import FULL_SCAN_INTERVAL, MARGIN
from aex_runtime.records import Timer
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.timers import TimerPolicy
from aex_runtime.unit_of_work import Unit
from tests.bus.messages import eventually
from tests.libs.runtime.background import (
    START,
    FailingStore,
    LoopClock,
    RecordingStore,
    in_virtual_time,
    lower_bound,
    running,
)
from tests.libs.runtime.timers.process import KIND, Firings, Process


@in_virtual_time
async def test_query_begins_at_the_end_of_the_last_one() -> None:
    store, clock, firings = RecordingStore(MemoryStore()), LoopClock(), Firings()
    process = Process(store, clock, firings, policy=TimerPolicy(poll=timedelta(milliseconds=20)))
    async with running(process.sweeper.run()):
        for number in range(3):
            await process.set(f"ctr_{number}", clock.now())
            await process.set(f"cancelled_{number}", clock.now() + timedelta(seconds=5))
            await eventually(partial(firings.are, number + 1))
        await eventually(lambda: len(store.queries) >= 20)
    first, *others = store.take_queries()
    assert lower_bound(first) is None
    for query in others:
        floor = lower_bound(query)
        assert isinstance(floor, int)
        assert floor >= epoch_micros(clock.now() - MARGIN - timedelta(seconds=30))
        assert any(bound.comparison == "<=" for bound in query.bounds)


async def test_timer_that_another_process_commits_late_fires_at_once(each_store: Store) -> None:
    clock, firings = SetClock(START), Firings()
    process = Process(each_store, clock, firings)
    for _ in range(3):
        assert await process.sweeper.fire_due(clock.now()) == 0
        late = Process(each_store, SetClock(clock.now() - MARGIN), firings, "b")
        await late.set("ctr_1", START - timedelta(days=1))
        assert await process.sweeper.next_due_at() == clock.now() - MARGIN
        assert await process.sweeper.fire_due(clock.now()) == 1
        clock.advance(timedelta(seconds=1))


async def test_timer_that_the_same_process_commits_late_fires_at_once(store: Store) -> None:
    clock, firings = SetClock(START), Firings()
    process = Process(store, clock, firings)

    async def slowly(unit: Unit) -> None:
        unit.set_timer(KIND, "ctr_1", unit.now)
        clock.advance(timedelta(seconds=40))
        assert await process.sweeper.fire_due(clock.now()) == 0

    assert await process.sweeper.fire_due(clock.now()) == 0
    await process.unit_of_work.run(slowly)
    assert await process.sweeper.fire_due(clock.now()) == 1


async def test_timer_from_long_ago_fires_within_the_minute(store: Store) -> None:
    clock, firings = SetClock(START), Firings()
    process = Process(store, clock, firings)
    assert await process.sweeper.fire_due(clock.now()) == 0
    await Process(store, SetClock(START - timedelta(hours=1)), firings, "b").set("ctr_1", START - MARGIN)
    await Process(store, SetClock(START - timedelta(hours=1)), firings, "b").set("ctr_2", START - MARGIN * 2)
    assert await process.sweeper.fire_due(clock.now()) == 1
    clock.advance(FULL_SCAN_INTERVAL)
    assert await process.sweeper.fire_due(clock.now()) == 1
    assert firings.subjects == ["ctr_1", "ctr_2"]


@pytest.mark.parametrize(("moved", "due"), [(timedelta(), -timedelta(days=1)), (-timedelta(days=1), timedelta())])
async def test_timer_for_the_past_or_after_a_clock_change_fires_at_once(
    store: Store, moved: timedelta, due: timedelta
) -> None:
    clock, firings = SetClock(START), Firings()
    process, other = Process(store, clock, firings), Process(store, clock, firings, "b")
    for _ in range(3):
        assert await process.sweeper.fire_due(clock.now()) == 0
        clock.advance(moved)
        await other.set("ctr_1", clock.now() + due)
        assert await process.sweeper.fire_due(clock.now()) == 1
        assert firings.fired[-1].due_at == clock.now()
        clock.advance(timedelta(seconds=10))


@in_virtual_time
async def test_watermark_does_not_pass_a_firing_timer() -> None:
    store, clock, gate = FailingStore(MemoryStore()), SetClock(START), asyncio.Event()

    async def wait_for_gate(timer: Timer) -> None:
        if timer.subject == "slow" and firings.subjects.count("slow") == 1:
            await gate.wait()
            store.down = True

    firings = Firings(wait_for_gate)
    policy = TimerPolicy(poll=timedelta(milliseconds=10), lease_ttl=timedelta(hours=1))
    process = Process(store, clock, firings, policy=policy)
    await process.set("slow", clock.now())
    async with running(process.sweeper.run()):
        await eventually(lambda: firings.subjects == ["slow"])
        for number in range(5):
            clock.advance(timedelta(seconds=8))
            await process.set(str(number), clock.now())
            await eventually(partial(firings.are, number + 2))
        gate.set()
        await eventually(lambda: store.down and firings.running == 0)
        store.down = False
        await eventually(lambda: firings.subjects.count("slow") == 2)


@in_virtual_time
async def test_new_leader_queries_from_the_beginning(store: Store) -> None:
    clock, firings = SetClock(START), Firings()
    process = Process(store, clock, firings, policy=TimerPolicy(poll=timedelta(milliseconds=10)))
    assert await process.sweeper.fire_due(clock.now()) == 0
    await Process(store, SetClock(START - timedelta(hours=1)), firings, "b").set("ctr_1", START - MARGIN * 2)
    async with running(process.sweeper.run()):
        await eventually(lambda: firings.subjects == ["ctr_1"])
