"""A timer whose handler fails, or whose end cannot be written down, comes again."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from aex_runtime.clock import SetClock, WallClock
from aex_runtime.handlers import Poison, RetryLater
from aex_runtime.seen_clean import MARGIN
from aex_runtime.store.buffer import BufferedTransaction
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store, StoreUnavailable, T, Transaction
from aex_runtime.timer_entry import Timer
from tests.bus.messages import eventually
from tests.libs.runtime.background import START, FailingStore, eventually_async, later, running
from tests.libs.runtime.timers.process import KIND, POLICY, RARE_POLL, Firings, Process, fail_with


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
