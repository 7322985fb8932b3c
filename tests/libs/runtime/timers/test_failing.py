import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from aex_runtime.clock import SetClock
from aex_runtime.low_watermark import MARGIN
from aex_runtime.records import Poison, RetryLater, Timer
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store, StoreUnavailable, T, Transaction
from aex_runtime.store.transactions import BufferedTransaction
from tests.bus.messages import eventually
from tests.libs.runtime.background import START, FailingStore, LoopClock, in_virtual_time, later, running
from tests.libs.runtime.timers.process import KIND, POLICY, RARE_POLL, Firings, Process, fail_with


async def test_timer_cancelled_while_its_handler_fails_stays_cancelled(store: Store) -> None:
    async def cancel_and_fail(_: Timer) -> None:
        await process.cancel("ctr_1")
        raise RuntimeError("after the cancellation")

    process = Process(store, SetClock(START), Firings(cancel_and_fail))
    await process.set("ctr_1", later(seconds=1))
    await process.sweeper.fire_due(later(seconds=1))
    assert await process.timer("ctr_1") is None


async def test_failing_timer_is_retried_with_growing_waits(store: Store) -> None:
    clock, firings = SetClock(START), Firings(fail_with(RuntimeError("broken")))
    process = Process(store, clock, firings)
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


@pytest.mark.parametrize(
    ("error", "kind", "delay"),
    [
        (RetryLater(timedelta(seconds=7), "not yet"), KIND, timedelta(seconds=7)),
        (Poison("it makes no sense"), KIND, POLICY.backoff.cap),
        (Poison("it makes no sense"), "of another version", POLICY.backoff.cap),
    ],
)
async def test_error_decides_the_wait_of_its_timer(store: Store, error: Exception, kind: str, delay: timedelta) -> None:
    process = Process(store, SetClock(START), fail_with(error))
    await process.set("ctr_1", START, kind)
    await process.sweeper.fire_due(START)
    timer = await process.timer("ctr_1", kind)
    assert timer is not None
    assert timer.due_at == START + delay


async def test_timer_that_cannot_be_deleted_fires_until_it_is(each_store: Store) -> None:
    failing, clock = FailingStore(each_store), SetClock(START)

    async def cut_off(_: Timer) -> None:
        failing.down = len(firings.fired) < 3

    firings = Firings(cut_off)
    process = Process(failing, clock, firings)
    await process.set("ctr_1", START)
    for fired in (1, 2, 3):
        assert await process.sweeper.fire_due(clock.now()) == 1
        assert len(firings.fired) == fired
        if failing.down:
            with pytest.raises(StoreUnavailable):
                await process.sweeper.fire_due(clock.now())
        failing.down = False
        clock.advance(MARGIN + timedelta(seconds=5))
    assert await process.sweeper.fire_due(clock.now()) == 0


class ReadOnlyTimers(FailingStore):
    refuses = False

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        async def attempt(transaction: Transaction) -> T:
            seen = await fn(transaction)
            writes = transaction.writes if isinstance(transaction, BufferedTransaction) else []
            if self.refuses and any(write.collection.name.endswith("-timers") for write in writes):
                raise StoreUnavailable("no writes")
            return seen

        return await super().transact(attempt)


@in_virtual_time
async def test_timer_with_an_unsaved_result_waits_before_its_retry() -> None:
    fired_at: list[float] = []

    async def handler(_: Timer) -> None:
        fired_at.append(asyncio.get_running_loop().time())

    store = ReadOnlyTimers(MemoryStore())
    process = Process(store, LoopClock(), handler, policy=RARE_POLL)
    await process.set("ctr_1", START)
    store.refuses = True
    async with running(process.sweeper.run()):
        await eventually(lambda: len(fired_at) == 3)
        store.refuses = False
        while await process.timer("ctr_1") is not None:  # noqa: ASYNC110 the store reports no change
            await asyncio.sleep(0.005)
    assert fired_at[1] - fired_at[0] >= 0.1
    assert fired_at[2] - fired_at[1] >= 0.2
