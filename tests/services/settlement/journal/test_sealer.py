"""The sealer in a running service: prompt, alone, and not stopped by outages or by what is broken."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from structlog.testing import capture_logs

from aex_runtime.clock import WallClock
from aex_runtime.ids import RandomIds
from aex_runtime.leases import LeaseRecord, Leases, leases_table
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Transaction, key_of
from aex_runtime.unit_of_work import UnitOfWork
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.seal import seal_unsealed_transactions
from aex_settlement.handlers.post_transactions import settle_outcome
from aex_settlement.repository.journal import read_journal_head
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.sealer import LEASE, Sealer, SealerPolicy, WakeupEvent, seal_and_project
from tests.bus.messages import eventually
from tests.libs.runtime.background import FailingStore, eventually_async, running
from tests.services.settlement.journal.recount import check_projections
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.outcomes import an_outcome

NEVER = timedelta(hours=1)


@dataclass
class Process:
    deps: Deps
    sealer: Sealer
    store: FailingStore

    async def settle(self, *contracts: str) -> None:
        for contract_id in contracts:
            await settle_outcome(self.deps, an_outcome(contract_id))

    async def sealed(self) -> int:
        return len((await checked_journal(self.deps.store)).sealed)

    def has_sealed(self, count: int) -> Callable[[], Awaitable[bool]]:
        async def enough() -> bool:
            return await self.sealed() >= count and await self.gauge("aex_rollups_behind_batches") == 0

        return enough

    async def gauge(self, name: str) -> float:
        (spec,) = [each for each in self.sealer.gauges() if each.name == name]
        return await spec.read()


def process_over(store: MemoryStore, policy: SealerPolicy | None = None) -> Process:
    failing, clock, ids, wakeup = FailingStore(store), WallClock(), RandomIds(), WakeupEvent()
    deps = Deps(UnitOfWork("settlement", failing, clock, lambda _: None), failing, clock, ids, wakeup.set)
    leases = Leases("settlement", failing, clock, holder=ids.new("proc"), max_skew=timedelta(milliseconds=50))
    return Process(deps, Sealer(deps, leases, wakeup, policy), failing)


async def test_wakeup_seals_a_burst_as_one_batch() -> None:
    process = process_over(
        MemoryStore(), SealerPolicy(batching_delay=timedelta(milliseconds=50), max_wakeup_wait=NEVER)
    )
    async with running(process.sealer.run()):
        await eventually_async(process.has_sealed(0))
        await eventually_async(_opened(process))
        await process.settle("ctr_1", "ctr_2", "ctr_3")
        await eventually_async(process.has_sealed(3))
    journal = await checked_journal(process.deps.store)
    assert [len(batch.transactions) for batch in journal.batches] == [0, 3]
    await check_projections(process.deps.store, journal)


async def test_sealer_rests_between_two_batches() -> None:
    rest = timedelta(milliseconds=400)
    process = process_over(
        MemoryStore(), SealerPolicy(batching_delay=timedelta(0), min_batch_interval=rest, max_wakeup_wait=NEVER)
    )
    async with running(process.sealer.run()):
        await eventually_async(_opened(process))
        await process.settle("ctr_1")
        await eventually_async(process.has_sealed(1))
        for number in range(2, 7):
            await process.settle(f"ctr_{number}")
            await asyncio.sleep(0.02)
        await eventually_async(process.has_sealed(6))
    _, *batches = (await checked_journal(process.deps.store)).batches
    pauses = [later.sealed_at - earlier.sealed_at for earlier, later in pairwise(batches)]
    assert min(pauses) > rest * 0.9


def _opened(process: Process) -> Callable[[], Awaitable[bool]]:
    async def opened() -> bool:
        return await read_journal_head(process.deps.store) is not None

    return opened


async def test_commits_of_other_processes_are_polled() -> None:
    store = MemoryStore()
    process = process_over(store, SealerPolicy(max_wakeup_wait=timedelta(milliseconds=20)))
    other = process_over(store)
    async with running(process.sealer.run()):
        await other.settle("ctr_1")
        await eventually_async(process.has_sealed(1))


async def test_sealing_resumes_after_an_outage() -> None:
    process = process_over(
        MemoryStore(), SealerPolicy(max_wakeup_wait=timedelta(milliseconds=10), min_batch_interval=timedelta(0))
    )
    await process.settle("ctr_1")
    with capture_logs() as lines:
        async with running(process.sealer.run()):
            await eventually_async(process.has_sealed(1))
            process.store.down = True
            await eventually(lambda: any(line["event"] == "journal_not_sealed" for line in lines))
            process.store.down = False
            await process.settle("ctr_2")
            await eventually_async(process.has_sealed(2))
    logged = [line for line in lines if line["event"] == "journal_not_sealed"]
    assert all(line["retry_in_s"] > 0 for line in logged)


async def test_when_one_process_ends_another_takes_over() -> None:
    store = MemoryStore()
    policy = SealerPolicy(max_wakeup_wait=timedelta(milliseconds=20), lease_ttl=timedelta(milliseconds=300))
    one, other = process_over(store, policy), process_over(store, policy)
    async with running(other.sealer.run()):
        async with running(one.sealer.run()):
            await one.settle("ctr_1")
            await eventually_async(one.has_sealed(1))
        await one.settle("ctr_2")
        await eventually_async(one.has_sealed(2))


async def test_fenced_sealer_acquires_the_lease_later() -> None:
    store = MemoryStore()
    process = process_over(
        store, SealerPolicy(max_wakeup_wait=timedelta(milliseconds=20), lease_ttl=timedelta(milliseconds=300))
    )
    leases = leases_table("settlement")
    async with running(process.sealer.run()) as task:
        await eventually_async(_opened(process))
        with capture_logs() as lines:
            taken = LeaseRecord(
                holder="other",
                fencing_token=99,
                expires_at=process.deps.clock.now() + timedelta(milliseconds=100),
                ttl_ms=100,
            )

            async def take(transaction: Transaction) -> None:
                transaction.put(leases.collection, LEASE, *leases.encode(taken))

            await store.transact(take)
            await process.settle("ctr_1")
            await eventually_async(process.has_sealed(1))
        assert not task.done()
    stored = await leases.get(store, LEASE)
    assert stored is not None
    assert stored.record.fencing_token >= 100
    assert {line["event"] for line in lines} & {"sealer_fenced", "lease_lost"}


async def test_broken_journal_raises_an_alarm_and_sealing_goes_on() -> None:
    process = process_over(MemoryStore(), SealerPolicy(max_wakeup_wait=timedelta(milliseconds=10)))
    await process.settle("ctr_1")
    await seal_and_project(process.deps)
    await process.settle("ctr_2")
    (sealed,) = (await checked_journal(process.deps.store)).sealed
    await seal_unsealed_transactions(process.deps)
    victim = (await checked_journal(process.deps.store)).sealed[-1]
    assert victim.id != sealed.id
    await remove(process, victim.id)
    with capture_logs() as lines:
        async with running(process.sealer.run()):
            await process.settle("ctr_3")

            async def sealed_behind_it() -> bool:
                head = await read_journal_head(process.deps.store)
                return head is not None and head.seq == 4 and any(line["event"] == "journal_broken" for line in lines)

            await eventually_async(sealed_behind_it)
    alarm = next(line for line in lines if line["event"] == "journal_broken")
    assert (alarm["alarm"], alarm["batch"], alarm["transaction_id"]) == (True, 3, victim.id)
    assert await process.gauge("aex_rollups_behind_batches") == 2
    assert await process.gauge("aex_accounts_behind_batches") == 2


async def remove(process: Process, transaction_id: str) -> None:
    async def write(transaction: Transaction) -> None:
        transaction.delete(TRANSACTIONS.collection, key_of(transaction_id))

    await process.deps.store.transact(write)


async def test_gauges_report_the_delay_of_the_journal() -> None:
    process = process_over(MemoryStore())
    names = ("aex_journal_unsealed_seconds", "aex_journal_refused", "aex_accounts_behind_batches")
    assert [await process.gauge(name) for name in names] == [0, 0, 0]
    await process.settle("ctr_1")
    await asyncio.sleep(0.01)
    assert 0 < await process.gauge("aex_journal_unsealed_seconds") < 10
    ((transaction,),) = [(await TRANSACTIONS.find(process.deps.store, order="occurred_at"))]
    await remove(process, transaction.record.id)
    async with running(process.sealer.run()):

        async def refused() -> bool:
            return await process.gauge("aex_journal_refused") == 1

        await eventually_async(refused)
