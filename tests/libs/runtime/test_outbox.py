import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aex_runtime.bus.port import BusUnavailable, Outgoing
from aex_runtime.bus.wire import decode
from aex_runtime.clock import SetClock, epoch_micros
from aex_runtime.ids import SeededIds
from aex_runtime.leases import Leases
from aex_runtime.outbox import OutboxPolicy, OutboxPump
from aex_runtime.outbox_entry import outbox_table
from aex_runtime.seen_clean import FULL_EVERY, MARGIN
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Query, Store, StoreUnavailable
from aex_runtime.unit_of_work import Committed, Unit, UnitOfWork
from tests.bus.messages import eventually, stop
from tests.libs.runtime.background import (
    SERVICE,
    START,
    AskedStore,
    FailingStore,
    RecordingBus,
    begins,
    emit_checked,
    eventually_async,
    running,
)

QUICK = OutboxPolicy(
    batch=3,
    sweep_every=timedelta(milliseconds=10),
    forget_after=timedelta(milliseconds=10),
    drain=timedelta(seconds=1),
)
GRACE = QUICK.grace


class Process:
    """One process of a service: its unit of work and its pump, on a store and a bus that outlive it."""

    def __init__(
        self, store: Store, bus: RecordingBus, clock: SetClock, name: str = "a", policy: OutboxPolicy = QUICK
    ) -> None:
        leases = Leases(SERVICE, store, clock, name)
        self.pump = OutboxPump(SERVICE, store, bus, clock, SeededIds(1), leases, policy)
        self.unit_of_work = UnitOfWork(SERVICE, store, clock, self._committed)

    def _committed(self, committed: Committed) -> None:
        self.pump.notify(committed.events)

    async def emit(self, *names: str) -> None:
        await self.unit_of_work.run(emit_checked(*names))


@pytest.fixture
def clock() -> SetClock:
    return SetClock(START)


@pytest.fixture
def bus() -> RecordingBus:
    return RecordingBus()


async def rows(store: Store) -> int:
    return len(await store.query(Query(outbox_table(SERVICE).collection, order="created_at", limit=500)))


def empty(store: Store) -> Callable[[], Awaitable[bool]]:
    async def condition() -> bool:
        return await rows(store) == 0

    return condition


async def test_committed_events_are_published_at_once_and_forgotten(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    process = Process(each_store, bus, clock)
    async with running(process.pump.run()):
        await process.emit("work_1", "work_2")
        await eventually(lambda: bus.published == ["work_1", "work_2"])
        await eventually_async(empty(each_store))
    assert bus.published == ["work_1", "work_2"]


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


async def test_event_from_long_ago_is_swept_within_the_minute(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    sweeper = Process(each_store, bus, clock, "b").pump
    await sweeper.sweep()
    await Process(each_store, bus, SetClock(START - timedelta(hours=1))).emit("work_1")
    assert await sweeper.sweep() == 0
    clock.advance(FULL_EVERY)
    assert await sweeper.sweep() == 1


async def test_who_takes_the_lease_sweeps_from_the_beginning(
    each_store: Store, bus: RecordingBus, clock: SetClock
) -> None:
    pump = Process(each_store, bus, clock, "b").pump
    await pump.sweep()
    await Process(each_store, bus, SetClock(START - timedelta(hours=1))).emit("work_1")
    async with running(pump.run()):
        await eventually_async(empty(each_store))
    assert bus.published == ["work_1"]


HERE = st.tuples(st.just("here"), st.integers(0, 100))
THERE = st.tuples(st.just("there"), st.integers(0, MARGIN // timedelta(seconds=1)))
ADVANCE = st.tuples(st.just("advance"), st.integers(0, 30))
SET_BACK = st.tuples(st.just("set back"), st.integers(1, 5_000))
SWEEP = st.tuples(st.just("sweep"), st.just(0))
REFUSE = st.tuples(st.just("refuse"), st.integers(0, 2))


@given(st.lists(st.one_of(HERE, THERE, ADVANCE, SET_BACK, SWEEP, SWEEP, REFUSE), max_size=40))
@example([("sweep", 0), ("here", 40), ("sweep", 0)])
@example([("sweep", 0), ("set back", 5_000), ("there", 0), ("advance", 3), ("sweep", 0)])
def test_sweep_misses_nothing(steps: list[tuple[str, int]]) -> None:
    asyncio.run(Swept().take(steps))


class Swept:
    """A sweeper, what it and other processes commit, and after each sweep a look at what it missed."""

    def __init__(self) -> None:
        self.store, self.bus, self.clock = MemoryStore(), RecordingBus(), SetClock(START)
        self.process = Process(self.store, self.bus, self.clock, policy=OutboxPolicy(batch=3, max_waiting=0))
        self.emitted = 0

    async def take(self, steps: list[tuple[str, int]]) -> None:
        for step, number in steps:
            await self._step(step, timedelta(seconds=number), number)
        self.clock.advance(FULL_EVERY)
        await self._sweep()

    async def _step(self, step: str, by: timedelta, number: int) -> None:
        match step:
            case "here":
                await self._commit(self.process.unit_of_work, by)
            case "there":
                there = Process(self.store, self.bus, SetClock(self.clock.now() - by), "other")
                await self._commit(there.unit_of_work)
            case "advance":
                self.clock.advance(by)
            case "set back":
                self.clock.advance(-by)
                await self._sweep()
            case "refuse":
                self.bus.refused = frozenset({f"work_{self.emitted - number}"} if number else ())
            case _:
                await self._sweep()

    async def _commit(self, unit_of_work: UnitOfWork, after: timedelta | None = None) -> None:
        self.emitted += 1
        emit = emit_checked(f"work_{self.emitted}")

        async def slowly(unit: Unit) -> None:
            await emit(unit)
            if after is not None:
                self.clock.advance(after)
                await self._sweep()

        await unit_of_work.run(slowly)

    async def _sweep(self) -> None:
        await self.process.pump.sweep()
        left = await outbox_table(SERVICE).find(self.store, order="created_at", limit=500)
        missed = [each for each in left if each.record.created_at <= self.clock.now() - GRACE]
        assert {each.record.event.subject for each in missed} <= self.bus.refused
