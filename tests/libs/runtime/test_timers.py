import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial

import pytest

from aex_runtime.backoff import Backoff
from aex_runtime.clock import Clock, SetClock, WallClock, epoch_micros
from aex_runtime.handlers import Poison, RetryLater, TimerHandler
from aex_runtime.ids import SeededIds
from aex_runtime.leases import Leases
from aex_runtime.seen_clean import FULL_EVERY, MARGIN
from aex_runtime.store.buffer import BufferedTransaction
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store, StoreUnavailable, T, Transaction
from aex_runtime.telemetry import continue_trace, current_trace
from aex_runtime.timer_entry import Timer, timer_key, timers_table
from aex_runtime.timers import TimerPolicy, TimerSweeper
from aex_runtime.unit_of_work import Committed, Unit, UnitOfWork
from tests.bus.messages import eventually
from tests.libs.runtime.background import (
    SERVICE,
    START,
    AskedStore,
    FailingStore,
    begins,
    eventually_async,
    later,
    running,
)

KIND = "deadline"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
POLICY = TimerPolicy(backoff=Backoff(timedelta(seconds=1), timedelta(minutes=5)))
RARE_POLL = TimerPolicy(poll=timedelta(minutes=10))
"""Whatever fires in time was not found by the poll."""


class Firings:
    """A handler that remembers what fired, and first does what it is told."""

    def __init__(self, then: TimerHandler | None = None) -> None:
        self.fired: list[Timer] = []
        self.running = 0
        self.most_running = 0
        self._then = then

    async def __call__(self, timer: Timer) -> None:
        self.fired.append(timer)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            if self._then is not None:
                await self._then(timer)
        finally:
            self.running -= 1

    def are(self, number: int) -> bool:
        return len(self.fired) == number

    @property
    def subjects(self) -> list[str]:
        return [timer.subject for timer in self.fired]


def fail_with(error: Exception) -> TimerHandler:
    async def handler(_: Timer) -> None:
        raise error

    return handler


class Process:
    """One process of a service: its unit of work and its sweeper, on a store that outlives it."""

    def __init__(
        self, store: Store, clock: Clock, handler: TimerHandler, name: str = "a", policy: TimerPolicy = POLICY
    ) -> None:
        leases = Leases(SERVICE, store, clock, name)
        self.store = store
        self.sweeper = TimerSweeper(SERVICE, store, leases, clock, {KIND: handler}, SeededIds(1), policy)
        self.unit_of_work = UnitOfWork(SERVICE, store, clock, self._committed)

    def _committed(self, committed: Committed) -> None:
        self.sweeper.notify(committed.timers)

    async def set(self, subject: str, due_at: datetime, kind: str = KIND) -> None:
        await self.run(lambda unit: unit.set_timer(kind, subject, due_at))

    async def cancel(self, subject: str) -> None:
        await self.run(lambda unit: unit.cancel_timer(KIND, subject))

    async def run(self, step: Callable[[Unit], None]) -> None:
        async def unit(unit: Unit) -> None:
            step(unit)

        await self.unit_of_work.run(unit)

    async def timer(self, subject: str, kind: str = KIND) -> Timer | None:
        stored = await timers_table(SERVICE).get(self.store, timer_key(kind, subject))
        return stored.record if stored else None


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


async def test_timer_cancelled_while_its_handler_fails_stays_cancelled(each_store: Store) -> None:
    async def cancel_and_fail(_: Timer) -> None:
        await process.cancel("ctr_1")
        raise RuntimeError("after the cancellation")

    process = Process(each_store, SetClock(START), Firings(cancel_and_fail))
    await process.set("ctr_1", later(seconds=1))
    await process.sweeper.fire_due(later(seconds=1))
    assert await process.timer("ctr_1") is None


async def test_failing_timer_comes_again_ever_more_slowly_and_is_never_lost(each_store: Store) -> None:
    clock, firings = SetClock(START), Firings(fail_with(RuntimeError("broken")))
    process = Process(each_store, clock, firings)
    await process.set("ctr_1", START)
    waits: list[timedelta] = []
    for failures in range(1, 31):
        assert await process.sweeper.fire_due(clock.now()) == 1
        timer = await process.timer("ctr_1")
        assert timer is not None
        assert timer.failures == failures
        waits.append(timer.due_at - clock.now())
        clock.advance(waits[-1])
    longest = POLICY.backoff.cap
    assert all(longest / 2 <= wait <= longest for wait in waits[10:])
    assert timedelta(milliseconds=500) <= waits[0] <= timedelta(seconds=1)
    assert waits[0] < waits[2] < waits[4] < waits[6]


async def test_handler_may_say_when_it_wants_its_timer_again(each_store: Store) -> None:
    process = Process(each_store, SetClock(START), fail_with(RetryLater(timedelta(seconds=7), "not yet")))
    await process.set("ctr_1", START)
    await process.sweeper.fire_due(START)
    timer = await process.timer("ctr_1")
    assert timer is not None
    assert timer.due_at == later(seconds=7)


@pytest.mark.parametrize("kind", [KIND, "of another version"])
async def test_hopeless_and_unknown_timers_wait_at_the_slowest_pace(each_store: Store, kind: str) -> None:
    process = Process(each_store, SetClock(START), fail_with(Poison("it makes no sense")))
    await process.set("ctr_1", START, kind)
    await process.sweeper.fire_due(START)
    timer = await process.timer("ctr_1", kind)
    assert timer is not None
    assert timer.due_at == START + POLICY.backoff.cap


async def test_timer_that_could_not_be_forgotten_fires_again(each_store: Store) -> None:
    store = FailingStore(each_store)

    async def cut_off(_: Timer) -> None:
        store.down = len(firings.fired) == 1

    firings = Firings(cut_off)
    process = Process(store, SetClock(START), firings)
    await process.set("ctr_1", START)
    await process.sweeper.fire_due(START)
    with pytest.raises(StoreUnavailable):
        await process.sweeper.fire_due(START)
    store.down = False
    await process.sweeper.fire_due(START)
    assert firings.subjects == ["ctr_1", "ctr_1"]
    assert await process.sweeper.fire_due(later(days=1)) == 0


async def test_next_due_tells_how_long_to_sleep(each_store: Store) -> None:
    process = Process(each_store, SetClock(START), Firings())
    assert await process.sweeper.next_due() is None
    await process.set("ctr_2", later(seconds=2))
    await process.set("ctr_1", later(seconds=1))
    assert await process.sweeper.next_due() == later(seconds=1)


async def test_look_begins_where_the_last_one_ended_and_goes_no_further_than_it_must() -> None:
    store, clock, firings = AskedStore(MemoryStore()), WallClock(), Firings()
    process = Process(store, clock, firings, policy=TimerPolicy(poll=timedelta(milliseconds=20)))
    async with running(process.sweeper.run()):
        for number in range(5):
            await process.set(f"ctr_{number}", clock.now())
            await process.set(f"cancelled_{number}", clock.now() + timedelta(seconds=5))
            await eventually(partial(firings.are, number + 1))
        await eventually_async(lambda: _asked(store, 20))
    first, *others = store.took()
    assert begins(first) is None
    for look in others:
        floor = begins(look)
        assert isinstance(floor, int)
        assert floor >= epoch_micros(clock.now() - MARGIN - timedelta(seconds=30))
        assert any(bound.comparison == "<=" for bound in look.bounds)


async def test_timer_set_for_the_past_is_due_now(each_store: Store) -> None:
    clock, firings = SetClock(START), Firings()
    process = Process(each_store, clock, firings)
    other = Process(each_store, clock, firings, "b")
    for _ in range(3):
        assert await process.sweeper.fire_due(clock.now()) == 0
        await other.set("ctr_1", clock.now() - timedelta(days=1))
        assert await process.sweeper.fire_due(clock.now()) == 1
        assert firings.fired[-1].due_at == clock.now()
        clock.advance(timedelta(seconds=10))


async def test_timer_that_another_process_commits_late_fires_at_once(each_store: Store) -> None:
    clock, firings = SetClock(START), Firings()
    process = Process(each_store, clock, firings)
    for _ in range(3):
        assert await process.sweeper.fire_due(clock.now()) == 0
        late = Process(each_store, SetClock(clock.now() - MARGIN), firings, "b")
        await late.set("ctr_1", START - timedelta(days=1))
        assert await process.sweeper.next_due() == clock.now() - MARGIN
        assert await process.sweeper.fire_due(clock.now()) == 1
        clock.advance(timedelta(seconds=1))


async def test_timer_that_the_same_process_commits_late_fires_at_once(each_store: Store) -> None:
    clock, firings = SetClock(START), Firings()
    process = Process(each_store, clock, firings)

    async def slowly(unit: Unit) -> None:
        unit.set_timer(KIND, "ctr_1", unit.now)
        clock.advance(timedelta(seconds=40))
        assert await process.sweeper.fire_due(clock.now()) == 0

    assert await process.sweeper.fire_due(clock.now()) == 0
    await process.unit_of_work.run(slowly)
    assert await process.sweeper.fire_due(clock.now()) == 1


async def test_timer_from_long_ago_fires_within_the_minute(each_store: Store) -> None:
    clock, firings = SetClock(START), Firings()
    process = Process(each_store, clock, firings)
    assert await process.sweeper.fire_due(clock.now()) == 0
    await Process(each_store, SetClock(START - timedelta(hours=1)), firings, "b").set("ctr_1", START - MARGIN)
    await Process(each_store, SetClock(START - timedelta(hours=1)), firings, "b").set("ctr_2", START - MARGIN * 2)
    assert await process.sweeper.fire_due(clock.now()) == 1
    clock.advance(FULL_EVERY)
    assert await process.sweeper.fire_due(clock.now()) == 1
    assert firings.subjects == ["ctr_1", "ctr_2"]


async def test_timer_set_after_the_clock_was_set_back_fires_at_once(each_store: Store) -> None:
    clock, firings = SetClock(START), Firings()
    process, other = Process(each_store, clock, firings), Process(each_store, clock, firings, "b")
    assert await process.sweeper.fire_due(clock.now()) == 0
    clock.advance(-timedelta(days=1))
    await other.set("ctr_1", clock.now())
    assert await process.sweeper.fire_due(clock.now()) == 1


async def test_timer_that_could_not_be_forgotten_is_not_passed(each_store: Store) -> None:
    store, clock = FailingStore(each_store), SetClock(START)

    async def cut_off(_: Timer) -> None:
        store.down = len(firings.fired) < 3

    firings = Firings(cut_off)
    process = Process(store, clock, firings)
    await process.set("ctr_1", START)
    for fired in (1, 2, 3):
        assert await process.sweeper.fire_due(clock.now()) == 1
        assert len(firings.fired) == fired
        store.down = False
        clock.advance(MARGIN + timedelta(seconds=5))
    assert await process.sweeper.fire_due(clock.now()) == 0


async def test_timer_under_way_is_not_passed_and_fires_again_if_it_was_not_forgotten() -> None:
    """Its handler takes longer than the margin; what was set meanwhile fires meanwhile."""
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


async def test_who_takes_the_lease_looks_from_the_beginning(each_store: Store) -> None:
    clock, firings = SetClock(START), Firings()
    process = Process(each_store, clock, firings, policy=TimerPolicy(poll=timedelta(milliseconds=10)))
    assert await process.sweeper.fire_due(clock.now()) == 0
    await Process(each_store, SetClock(START - timedelta(hours=1)), firings, "b").set("ctr_1", START - MARGIN * 2)
    async with running(process.sweeper.run()):
        await eventually(lambda: firings.subjects == ["ctr_1"])


async def test_running_sweeper_wakes_for_a_timer_it_is_told_of(each_store: Store) -> None:
    clock, firings = WallClock(), Firings()
    process = Process(each_store, clock, firings, policy=RARE_POLL)
    async with running(process.sweeper.run()):
        await asyncio.sleep(0.05)
        await process.set("ctr_2", clock.now() + timedelta(milliseconds=150))
        await process.set("ctr_1", clock.now() + timedelta(milliseconds=50))
        await eventually(lambda: firings.subjects == ["ctr_1", "ctr_2"])
    assert [timer.failures for timer in firings.fired] == [0, 0]


async def test_running_sweeper_finds_timers_of_other_processes_by_its_poll(each_store: Store) -> None:
    clock, firings = WallClock(), Firings()
    sweeping = Process(each_store, clock, firings, policy=TimerPolicy(poll=timedelta(milliseconds=50)))
    other = Process(each_store, clock, Firings(), "b")
    async with running(sweeping.sweeper.run()):
        await asyncio.sleep(0.05)
        await other.set("ctr_1", clock.now())
        await eventually(lambda: firings.subjects == ["ctr_1"])


async def test_only_one_of_two_running_sweepers_fires(each_store: Store) -> None:
    clock, first, second = WallClock(), Firings(), Firings()
    processes = Process(each_store, clock, first, "a"), Process(each_store, clock, second, "b")
    async with running(processes[0].sweeper.run()), running(processes[1].sweeper.run()):
        for number in range(20):
            await processes[number % 2].set(f"ctr_{number}", clock.now())
        await eventually(lambda: len(first.fired) + len(second.fired) >= 20)
        await asyncio.sleep(0.05)
    assert sorted([len(first.fired), len(second.fired)]) == [0, 20]


async def test_slow_timer_holds_up_no_other_and_fires_once() -> None:
    clock, gate = WallClock(), asyncio.Event()

    async def wait_for_gate(timer: Timer) -> None:
        if timer.subject == "slow":
            await gate.wait()

    firings = Firings(wait_for_gate)
    process = Process(MemoryStore(), clock, firings, policy=TimerPolicy(poll=timedelta(milliseconds=10)))
    await process.set("slow", clock.now())
    async with running(process.sweeper.run()):
        await eventually(lambda: firings.subjects == ["slow"])
        for number in range(30):
            await process.set(str(number), clock.now())
        await eventually(lambda: len(firings.fired) == 31)
        gate.set()
        await eventually_async(lambda: _nothing_left(process))
    assert len(set(firings.subjects)) == 31


async def test_no_more_than_the_allowed_number_fires_at_once() -> None:
    clock, firings = WallClock(), Firings(lambda _: asyncio.sleep(0.01))
    process = Process(MemoryStore(), clock, firings, policy=TimerPolicy(concurrency=3))
    for number in range(12):
        await process.set(str(number), clock.now())
    async with running(process.sweeper.run()):
        await eventually(lambda: len(firings.fired) == 12)
    assert firings.most_running == 3


async def test_running_sweeper_waits_out_a_store_that_is_down() -> None:
    clock, firings, store = WallClock(), Firings(), FailingStore(MemoryStore())
    process = Process(store, clock, firings)
    async with running(process.sweeper.run()):
        await asyncio.sleep(0.05)
        store.down = True
        process.sweeper.notify([Timer(kind=KIND, subject="ctr_0", due_at=clock.now())])
        await asyncio.sleep(0.05)
        store.down = False
        await process.set("ctr_1", clock.now())
        await eventually(lambda: firings.subjects == ["ctr_1"])


def _nothing_left(process: Process) -> Awaitable[bool]:
    async def condition() -> bool:
        return await process.sweeper.next_due() is None

    return condition()


def _asked(store: AskedStore, times: int) -> Awaitable[bool]:
    async def condition() -> bool:
        return len(store.asked) >= times

    return condition()


class ReadOnlyTimers(FailingStore):
    """A store that refuses, at once, to write a timer down."""

    refuses = False

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        async def attempt(transaction: Transaction) -> T:
            seen = await fn(transaction)
            writes = transaction.writes if isinstance(transaction, BufferedTransaction) else []
            if self.refuses and any(write.collection.name.endswith("-timers") for write in writes):
                raise StoreUnavailable("no writes")
            return seen

        return await super().transact(attempt)


async def test_timer_whose_end_cannot_be_written_down_fires_again_but_not_at_once() -> None:
    fired_at: list[float] = []

    async def handler(_: Timer) -> None:
        fired_at.append(asyncio.get_running_loop().time())

    store = ReadOnlyTimers(MemoryStore())
    process = Process(store, WallClock(), handler, policy=RARE_POLL)
    await process.set("ctr_1", START)
    store.refuses = True
    async with running(process.sweeper.run()):
        await eventually(lambda: len(fired_at) == 3)
        store.refuses = False
        await eventually_async(lambda: _gone(process))
    assert fired_at[1] - fired_at[0] >= 0.1
    assert fired_at[2] - fired_at[1] >= 0.2


async def _gone(process: Process) -> bool:
    return await process.timer("ctr_1") is None
