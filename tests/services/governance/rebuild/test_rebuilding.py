import asyncio
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from hypothesis import given

from aex_governance.handlers.fold_log import Rebuilder
from aex_governance.handlers.rebuild import RebuiltProjections, rebuild_projections
from aex_governance.repository import (
    DOMAINS,
    OUTCOMES,
    REBUILD_MARKS,
    VALIDATIONS,
    read_projection_generations,
    rebuild_mark_key,
)
from aex_governance.rules.projection_documents import LogRecord, ValidationRecord
from aex_runtime.errors import Conflict
from aex_runtime.generations import LEASE
from aex_runtime.ids import SeededIds
from aex_runtime.leases import Leases
from aex_runtime.store.port import Query, Store, Transaction, key_of
from tests.parts.crashing import Crash, CrashingStore, HookedStore
from tests.services.governance.process import Process, open_process
from tests.services.governance.rebuild.live import live_through
from tests.services.governance.rebuild.recount import check_complete, check_read, logged, recounted, stored
from tests.services.governance.rules.test_projection_merging import logs

EVERY_STORE = pytest.mark.parametrize(
    "kit", ["memory", "sqlite", pytest.param("firestore", marks=pytest.mark.emulator)], indirect=True
)


async def rebuild(kit: Process, store: Store | None = None, seed: int = 1) -> RebuiltProjections:
    return await rebuild_projections(Rebuilder(store or kit.deps.store, kit.clock, SeededIds(seed), lambda *_: None))


@EVERY_STORE
async def test_rebuilt_projections_equal_the_live_ones(kit: Process) -> None:
    await live_through(kit, 0, 24)
    await check_complete(kit.deps.store)
    before = await stored(kit.deps.store)
    made = await rebuild(kit)
    assert await stored(kit.deps.store) == {2: before[1]}
    await check_complete(kit.deps.store)
    assert (made.generation, made.resumed, made.removed) == (2, False, len(before[1]))
    marks = {name: (mark.read, mark.folded) for name, mark in made.logs.items()}
    assert marks == {"validations": (24, 24), "outcomes": (24, 24)}
    for name in made.logs:
        assert await kit.deps.store.get(REBUILD_MARKS.collection, rebuild_mark_key(made.generation, name)) is None


async def test_damaged_projections_are_repaired_and_grow_further(kit: Process) -> None:
    await live_through(kit, 0, 12)
    [document] = await kit.deps.store.query_page(Query(DOMAINS.collection, limit=1))

    async def spoil(transaction: Transaction) -> None:
        transaction.delete(DOMAINS.collection, document.key)

    await kit.deps.store.transact(spoil)
    with pytest.raises(AssertionError):
        await check_complete(kit.deps.store)
    for generation in (2, 3):
        assert (await rebuild(kit)).generation == generation
        await check_complete(kit.deps.store)
        await live_through(kit, 20 * generation, 20 * generation + 6)
        await check_complete(kit.deps.store)


def fates(commit: int, fate: str) -> Iterator[str | None]:
    yield from [None] * commit
    yield fate


@pytest.mark.parametrize("fate", ["before", "after"])
async def test_killed_rebuild_keeps_the_old_generation_and_is_resumed(kit: Process, fate: str) -> None:
    await live_through(kit, 0, 30)
    resumed = 0
    for commit in range(100):
        dying = CrashingStore(kit.deps.store, fates(commit, fate))
        try:
            await rebuild(kit, dying, seed=commit)
        except Crash:
            pass
        else:
            break
        await check_read(kit.deps.store)
        await live_through(kit, 100 + commit, 101 + commit)
        await check_read(kit.deps.store)
        kit.clock.advance(timedelta(minutes=2))  # its lease ends
        resumed += (await rebuild(kit, seed=1_000 + commit)).resumed
        await check_complete(kit.deps.store)
    else:
        raise AssertionError("the rebuild never got through")
    assert commit > 8, "it did die in many places"
    assert resumed > 4


@pytest.mark.parametrize("fate", ["before", "after"])
async def test_repeatedly_killed_rebuild_completes(kit: Process, fate: str) -> None:
    await live_through(kit, 0, 30)
    attempts = 0
    while (await read_projection_generations(kit.deps.store)).reading == 1:
        attempts += 1
        assert attempts < 60, "it never got through"
        with pytest.raises(Crash):
            await rebuild(kit, CrashingStore(kit.deps.store, fates(3, fate)), seed=attempts)
        await check_read(kit.deps.store)
        kit.clock.advance(timedelta(minutes=2))
    assert attempts > 1
    await rebuild(kit)
    await check_complete(kit.deps.store)


@EVERY_STORE
async def test_records_during_a_rebuild_are_in_both_generations(kit: Process) -> None:
    await live_through(kit, 0, 20)
    service, came = open_process(kit.deps.store), 0  # another process, on a clock of its own

    async def more(_commit: int) -> None:
        nonlocal came
        await live_through(service, 1_000 + came, 1_002 + came)
        came += 2
        await check_read(kit.deps.store)

    made = await rebuild(kit, HookedStore(kit.deps.store, more))
    await check_complete(kit.deps.store)
    assert came > 8
    assert made.logs["outcomes"].read > made.logs["outcomes"].folded >= 20, "some had counted themselves"


@EVERY_STORE
async def test_rebuilds_beside_live_traffic_lose_nothing(kit: Process) -> None:
    await live_through(kit, 0, 20)
    services = [(open_process(kit.deps.store), first) for first in (1_000, 2_000, 3_000)]
    busy = [asyncio.create_task(live_through(service, first, first + 6)) for service, first in services]
    for seed in range(3):
        await rebuild(kit, seed=seed)
    await asyncio.gather(*busy)
    await check_complete(kit.deps.store)
    assert len(await logged(kit.deps.store)) == 2 * (20 + 18)


async def test_second_concurrent_rebuild_is_refused(kit: Process) -> None:
    await live_through(kit, 0, 3)
    other = Leases("governance", kit.deps.store, kit.clock, holder="other")
    assert await other.acquire(LEASE, timedelta(seconds=30)) is not None
    with pytest.raises(Conflict, match="another rebuild is under way") as refused:
        await rebuild(kit)
    assert refused.value.code == "rebuild_under_way"
    kit.clock.advance(timedelta(seconds=33))
    await rebuild(kit)
    await check_complete(kit.deps.store)


async def test_stalled_rebuild_writes_nothing_after_another_took_over(kit: Process) -> None:
    await live_through(kit, 0, 12)

    async def overtaken(commit: int) -> None:
        if commit == 3:
            kit.clock.advance(timedelta(minutes=2))
            await rebuild(kit, seed=2)

    with pytest.raises(Exception, match="rebuild"):
        await rebuild(kit, HookedStore(kit.deps.store, overtaken))
    await check_complete(kit.deps.store)
    assert (await read_projection_generations(kit.deps.store)).reading == 2


async def test_rebuild_reports_progress(kit: Process) -> None:
    await live_through(kit, 0, 30)
    steps: list[tuple[str, int, int]] = []
    await rebuild_projections(Rebuilder(kit.deps.store, kit.clock, SeededIds(1), lambda *step: steps.append(step)))
    for name in ("validations", "outcomes"):
        counts = [(done, total) for stage, done, total in steps if stage == name]
        assert [done for done, _ in counts] == sorted(done for done, _ in counts)
        assert counts[-1] == (30, 30)
        assert all(done <= total for done, total in counts)


@given(log=logs())
async def test_rebuild_from_any_stored_log_equals_a_recount(log: Sequence[LogRecord]) -> None:
    process = open_process()

    async def write(transaction: Transaction) -> None:
        for record in log:
            if isinstance(record, ValidationRecord):
                transaction.put(VALIDATIONS.collection, key_of(record.request.attempt_id), *VALIDATIONS.encode(record))
            else:
                transaction.put(OUTCOMES.collection, key_of(record.contract_id), *OUTCOMES.encode(record))

    await process.deps.store.transact(write)
    await rebuild(process)
    assert await stored(process.deps.store) == ({2: recounted(log)} if log else {})
