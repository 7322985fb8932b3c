import asyncio
from datetime import timedelta

import pytest

from aex_runtime.leases import Leases
from aex_runtime.records import Timer, timer_key, timers_table
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Transaction
from aex_runtime.store.table import RecordOfNewerVersion
from aex_runtime.timers import TimerPolicy
from tests.bus.messages import eventually
from tests.libs.runtime.background import SERVICE, FailingStore, LoopClock, in_virtual_time, running
from tests.libs.runtime.timers.process import KIND, RARE_POLL, Firings, Process


@in_virtual_time
async def test_running_sweeper_wakes_for_a_notified_timer() -> None:
    clock, firings = LoopClock(), Firings()
    process = Process(MemoryStore(), clock, firings, policy=RARE_POLL)
    async with running(process.sweeper.run()):
        await asyncio.sleep(0.05)
        await process.set("ctr_2", clock.now() + timedelta(milliseconds=150))
        await process.set("ctr_1", clock.now() + timedelta(milliseconds=50))
        await eventually(lambda: firings.subjects == ["ctr_1", "ctr_2"])
    assert [timer.failures for timer in firings.fired] == [0, 0]


@in_virtual_time
async def test_running_sweeper_finds_timers_of_other_processes_by_its_poll() -> None:
    store, clock, firings = MemoryStore(), LoopClock(), Firings()
    sweeping = Process(store, clock, firings, policy=TimerPolicy(poll=timedelta(milliseconds=50)))
    other = Process(store, clock, Firings(), "b")
    async with running(sweeping.sweeper.run()):
        await asyncio.sleep(0.05)
        await other.set("ctr_1", clock.now())
        await eventually(lambda: firings.subjects == ["ctr_1"])


@in_virtual_time
async def test_only_one_of_two_running_sweepers_fires() -> None:
    store, clock, first, second = MemoryStore(), LoopClock(), Firings(), Firings()
    processes = Process(store, clock, first, "a"), Process(store, clock, second, "b")
    async with running(processes[0].sweeper.run()), running(processes[1].sweeper.run()):
        for number in range(20):
            await processes[number % 2].set(f"ctr_{number}", clock.now())
        await eventually(lambda: len(first.fired) + len(second.fired) >= 20)
        await asyncio.sleep(0.05)
    assert sorted([len(first.fired), len(second.fired)]) == [0, 20]


@in_virtual_time
async def test_slow_timer_delays_no_other_and_fires_once() -> None:
    clock, gate = LoopClock(), asyncio.Event()

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
        while await process.sweeper.next_due_at() is not None:  # noqa: ASYNC110 the store reports no change
            await asyncio.sleep(0.005)
    assert len(set(firings.subjects)) == 31


@in_virtual_time
async def test_no_more_than_the_allowed_number_fires_at_once() -> None:
    clock, firings = LoopClock(), Firings(lambda _: asyncio.sleep(0.01))
    process = Process(MemoryStore(), clock, firings, policy=TimerPolicy(concurrency=3))
    for number in range(12):
        await process.set(str(number), clock.now())
    async with running(process.sweeper.run()):
        await eventually(lambda: len(firings.fired) == 12)
    assert firings.most_running == 3


@in_virtual_time
async def test_running_sweeper_waits_out_a_store_that_is_down() -> None:
    clock, firings, store = LoopClock(), Firings(), FailingStore(MemoryStore())
    process = Process(store, clock, firings)
    async with running(process.sweeper.run()):
        await asyncio.sleep(0.05)
        store.down = True
        process.sweeper.notify_committed([Timer(kind=KIND, subject="ctr_0", due_at=clock.now())])
        await asyncio.sleep(0.05)
        store.down = False
        await process.set("ctr_1", clock.now())
        await eventually(lambda: firings.subjects == ["ctr_1"])


@in_virtual_time
async def test_timer_of_a_newer_version_ends_the_sweeper_and_its_lease() -> None:
    store, clock, firings = MemoryStore(), LoopClock(), Firings()
    older, newer = Process(store, clock, firings), Leases(SERVICE, store, clock, "b")
    await older.set("ctr_1", clock.now())
    table, key = timers_table(SERVICE), timer_key(KIND, "ctr_1")

    async def add_a_field(transaction: Transaction) -> None:
        found = await transaction.get(table.collection, key)
        assert found is not None
        transaction.put(table.collection, key, found.body.removesuffix(b"}") + b',"later":1}', found.fields)

    await store.transact(add_a_field)
    with pytest.raises(RecordOfNewerVersion):
        await older.sweeper.run()
    assert await newer.acquire("timers", timedelta(seconds=1)) is not None
    assert firings.fired == []
