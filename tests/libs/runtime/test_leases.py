import asyncio
from datetime import timedelta

import pytest

from aex_runtime.clock import SetClock
from aex_runtime.ids import SeededIds
from aex_runtime.leases import LeaderElection, Lease, LeaseLost, Leases
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection, Store, Transaction
from tests.bus.messages import eventually
from tests.libs.runtime.background import SERVICE, START, FailingStore, LoopClock, in_virtual_time, later, running

TTL = timedelta(seconds=10)
SKEW = timedelta(seconds=2)
THINGS = Collection("test-things")


def leases(store: Store, clock: SetClock, owner: str) -> Leases:
    return Leases(SERVICE, store, clock, owner, max_skew=SKEW)


def rivals(store: Store) -> tuple[SetClock, Leases, Leases]:
    clock = SetClock(START)
    return clock, leases(store, clock, "a"), leases(store, clock, "b")


async def acquired(of: Leases, name: str = "outbox", ttl: timedelta = TTL) -> Lease:
    lease = await of.acquire(name, ttl)
    assert lease is not None
    return lease


async def test_lease_has_one_owner_at_a_time(each_store: Store) -> None:
    clock, first, second = rivals(each_store)
    assert (await acquired(first)).fencing_token == 1
    assert await second.acquire("outbox", TTL) is None
    assert (await acquired(second, "timers")).name == "timers"
    assert (await acquired(leases(each_store, clock, "a"))).fencing_token == 2  # a restarted owner of the same name


async def test_one_of_many_contenders_gets_the_lease(each_store: Store) -> None:
    clock = SetClock(START)
    contenders = [leases(each_store, clock, str(number)) for number in range(10)]
    found = await asyncio.gather(*(each.acquire("outbox", TTL) for each in contenders))
    assert [lease.fencing_token for lease in found if lease] == [1]


async def test_contender_acquires_the_lease_after_its_end_and_the_skew(store: Store) -> None:
    clock, first, second = rivals(store)
    held = await acquired(first)
    clock.advance(TTL)
    assert await second.acquire("outbox", TTL) is None
    clock.advance(SKEW)
    assert (await acquired(second)).fencing_token == held.fencing_token + 1


async def test_renewed_lease_stays_and_keeps_its_token(store: Store) -> None:
    clock, first, second = rivals(store)
    held = await acquired(first)
    for _ in range(5):
        clock.advance(TTL / 2)
        held = await first.renew(held)
        assert await second.acquire("outbox", TTL) is None
    assert held.fencing_token == 1
    assert held.expires_at == clock.now() + TTL


async def test_lost_lease_cannot_be_renewed(store: Store) -> None:
    ahead, behind = SetClock(later(seconds=20)), SetClock(START)
    first, second = leases(store, behind, "a"), leases(store, ahead, "b")
    lease = await acquired(first)
    expiring = await acquired(first, "timers")
    await acquired(second)
    with pytest.raises(LeaseLost):
        await first.renew(lease)
    behind.advance(TTL)
    with pytest.raises(LeaseLost):
        await first.renew(expiring)


async def test_released_lease_is_free_at_once_and_tokens_grow_on(store: Store) -> None:
    _, first, second = rivals(store)
    held = await acquired(first)
    await first.release(held)
    taken = await acquired(second)
    assert taken.fencing_token == 2
    await first.release(held)
    assert await first.acquire("outbox", TTL) is None


async def test_contender_acquires_a_lease_that_it_saw_unchanged_for_its_length(store: Store) -> None:
    ahead, clock = SetClock(later(days=30)), SetClock(START)
    await acquired(leases(store, ahead, "a"))
    second = leases(store, clock, "b")
    assert await second.acquire("outbox", TTL) is None
    clock.advance(TTL)
    assert await second.acquire("outbox", TTL) is None
    clock.advance(SKEW)
    assert (await acquired(second)).fencing_token == 2


async def test_lease_renewed_from_a_clock_far_ahead_is_not_taken_over(store: Store) -> None:
    ahead, clock = SetClock(later(days=30)), SetClock(START)
    first, second = leases(store, ahead, "a"), leases(store, clock, "b")
    held = await acquired(first)
    for _ in range(6):
        assert await second.acquire("outbox", TTL) is None
        clock.advance(TTL / 2)
        ahead.advance(TTL / 2)
        held = await first.renew(held)


async def test_write_under_a_lost_lease_is_fenced_off(each_store: Store) -> None:
    clock, first, second = rivals(each_store)
    stale = await acquired(first)
    clock.advance(TTL + SKEW)
    current = await acquired(second)

    async def write(transaction: Transaction, under: Lease, by: Leases) -> None:
        await by.require_lease(transaction, under)
        transaction.put(THINGS, "thing", b"{}", {})

    with pytest.raises(LeaseLost):
        await each_store.transact(lambda transaction: write(transaction, stale, first))
    assert await each_store.get(THINGS, "thing") is None
    await each_store.transact(lambda transaction: write(transaction, current, second))
    assert await each_store.get(THINGS, "thing") is not None


class Work:
    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.active = 0

    async def __call__(self, lease: Lease) -> None:
        self.tokens.append(lease.fencing_token)
        self.active += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.active -= 1


def election(store: Store, name: str, ttl: timedelta = timedelta(milliseconds=150)) -> LeaderElection:
    clock = LoopClock()
    return LeaderElection(Leases(SERVICE, store, clock, name, max_skew=timedelta()), clock, SeededIds(1), "outbox", ttl)


@in_virtual_time
async def test_work_runs_in_one_process_and_moves_on_when_that_one_stops() -> None:
    store, first, second = MemoryStore(), Work(), Work()
    async with running(election(store, "a").run(first)) as task:
        await eventually(lambda: first.active == 1)
        async with running(election(store, "b").run(second)):
            await asyncio.sleep(0.4)
            assert (first.active, second.active) == (1, 0)
            task.cancel()
            await eventually(lambda: second.active == 1)
            assert first.active == 0
    assert second.active == 0
    assert (first.tokens, second.tokens) == ([1], [2])


@in_virtual_time
async def test_work_stops_while_its_lease_cannot_be_renewed_or_is_lost() -> None:
    store, work = FailingStore(MemoryStore()), Work()
    async with running(election(store, "a").run(work)):
        await eventually(lambda: work.active == 1)
        store.down = True
        await eventually(lambda: work.active == 0)
        store.down = False
        await eventually(lambda: work.active == 1)
        ahead = Leases(SERVICE, store, SetClock(LoopClock().now() + timedelta(hours=1)), "b")
        await acquired(ahead, ttl=timedelta(hours=1))
        await eventually(lambda: work.active == 0)
    assert work.tokens == [1, 2]


@in_virtual_time
async def test_failure_of_the_work_is_raised() -> None:
    async def fail(_: Lease) -> None:
        raise RuntimeError("the work is broken")

    with pytest.raises(RuntimeError, match="the work is broken"):
        await election(MemoryStore(), "a").run(fail)
