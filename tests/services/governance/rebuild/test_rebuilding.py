"""Rebuilding: the same projections made anew beside the old, which are read until the very moment of the change."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from aex_governance.handlers.rebuild.rebuild_projections import LEASE, Rebuilt, rebuild_projections
from aex_governance.handlers.rebuild.rebuilder import Rebuilder
from aex_governance.repository.log import OUTCOMES, VALIDATIONS
from aex_governance.repository.projections import DOMAINS, read_head
from aex_governance.repository.rebuild_marks import REBUILD_MARKS, mark_key
from aex_runtime.errors import Conflict
from aex_runtime.ids import SeededIds
from aex_runtime.leases import Leases
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Query, Store, Transaction
from tests.parts.crashing import Crash, CrashingStore, HookedStore
from tests.services.governance.kit import Desk, desk_over
from tests.services.governance.logbook import ended, validated
from tests.services.governance.rebuild.live import live_through
from tests.services.governance.rebuild.recount import check_read, check_whole, logged, stored


def nowhere(_stage: str, _done: int, _total: int) -> None:
    """Nobody watches."""


async def rebuild(desk: Desk, store: Store | None = None, seed: int = 1) -> Rebuilt:
    return await rebuild_projections(Rebuilder(store or desk.deps.store, desk.clock, SeededIds(seed), nowhere))


async def test_what_is_rebuilt_equals_what_was_made_live_and_nothing_else_stays(desk: Desk) -> None:
    await live_through(desk, 0, 40)
    await check_whole(desk.deps.store)
    before = await stored(desk.deps.store)
    made = await rebuild(desk)
    assert await stored(desk.deps.store) == {2: before[1]}
    await check_whole(desk.deps.store)
    assert (made.generation, made.resumed, made.removed) == (2, False, len(before[1]))
    assert {name: (mark.read, mark.folded) for name, mark in made.logs.items()} == {
        "validations": (40, 40),
        "outcomes": (40, 40),
    }


async def test_projections_go_on_after_a_rebuild_and_can_be_rebuilt_again(desk: Desk) -> None:
    await live_through(desk, 0, 6)
    for generation in (2, 3):
        assert (await rebuild(desk)).generation == generation
        await live_through(desk, 10 * generation, 10 * generation + 6)
        await check_whole(desk.deps.store)


async def test_where_nothing_was_logged_nothing_is_made(desk: Desk) -> None:
    made = await rebuild(desk)
    assert {mark.read for mark in made.logs.values()} == {0}
    await live_through(desk, 0, 3)
    await check_whole(desk.deps.store)


async def test_what_somebody_spoilt_is_made_right(desk: Desk) -> None:
    await live_through(desk, 0, 12)
    [document] = await desk.deps.store.query(Query(DOMAINS.collection, limit=1))

    async def spoil(transaction: Transaction) -> None:
        transaction.delete(DOMAINS.collection, document.key)

    await desk.deps.store.transact(spoil)
    with pytest.raises(AssertionError):
        await check_whole(desk.deps.store)
    await rebuild(desk)
    await check_whole(desk.deps.store)


async def test_a_log_from_before_there_were_projections_is_folded(desk: Desk) -> None:
    await desk.deps.store.transact(_log_alone)
    await rebuild(desk)
    await check_whole(desk.deps.store)


async def _log_alone(transaction: Transaction) -> None:
    for number in range(5):
        validation, outcome = validated(number), ended(number)
        transaction.put(VALIDATIONS.collection, key_of(f"att_{number}"), *VALIDATIONS.encode(validation))
        transaction.put(OUTCOMES.collection, key_of(f"ctr_{number}"), *OUTCOMES.encode(outcome))


def fates(commit: int, fate: str) -> Iterator[str | None]:
    yield from [None] * commit
    yield fate


@pytest.mark.parametrize("fate", ["before", "after"])
async def test_a_rebuild_killed_at_any_commit_leaves_readers_what_they_had_and_the_next_goes_on(fate: str) -> None:
    desk = desk_over()
    await live_through(desk, 0, 30)
    resumed = 0
    for commit in range(100):
        dying = CrashingStore(desk.deps.store, fates(commit, fate))
        try:
            await rebuild(desk, dying, seed=commit)
        except Crash:
            pass
        else:
            break
        await check_read(desk.deps.store)
        await live_through(desk, 100 + commit, 101 + commit)
        await check_read(desk.deps.store)
        desk.clock.advance(timedelta(minutes=2))  # its lease ends
        resumed += (await rebuild(desk, seed=1_000 + commit)).resumed
        await check_whole(desk.deps.store)
    else:
        raise AssertionError("the rebuild never got through")
    assert commit > 8, "it did die in many places"
    assert resumed > 4


@pytest.mark.parametrize("fate", ["before", "after"])
async def test_one_that_is_killed_again_and_again_gets_there_in_the_end(desk: Desk, fate: str) -> None:
    await live_through(desk, 0, 30)
    attempts = 0
    while (await read_head(desk.deps.store)).reading == 1:
        attempts += 1
        assert attempts < 60, "it never got through"
        with pytest.raises(Crash):
            await rebuild(desk, CrashingStore(desk.deps.store, fates(3, fate)), seed=attempts)
        await check_read(desk.deps.store)
        desk.clock.advance(timedelta(minutes=2))
    assert attempts > 1
    await rebuild(desk)
    await check_whole(desk.deps.store)


async def test_what_comes_while_a_rebuild_runs_is_in_both(desk: Desk) -> None:
    await live_through(desk, 0, 20)
    service, came = desk_over(desk.deps.store), 0  # another process, on a clock of its own

    async def more(_commit: int) -> None:
        nonlocal came
        await live_through(service, 1_000 + came, 1_002 + came)
        came += 2
        await check_read(desk.deps.store)

    made = await rebuild(desk, HookedStore(desk.deps.store, more))
    await check_whole(desk.deps.store)
    assert came > 8
    assert made.logs["outcomes"].read > made.logs["outcomes"].folded >= 20, "some had counted themselves"


async def test_live_traffic_and_rebuilds_side_by_side_lose_nothing(desk: Desk) -> None:
    await live_through(desk, 0, 20)
    services = [(desk_over(desk.deps.store), first) for first in (1_000, 2_000, 3_000)]
    busy = [asyncio.create_task(live_through(service, first, first + 15)) for service, first in services]
    for seed in range(3):
        await rebuild(desk, seed=seed)
    await asyncio.gather(*busy)
    await check_whole(desk.deps.store)
    assert len(await logged(desk.deps.store)) == 2 * (20 + 45)


async def test_two_rebuilds_at_once_are_one_too_many(desk: Desk) -> None:
    await live_through(desk, 0, 3)
    other = Leases("governance", desk.deps.store, desk.clock, holder="other")
    assert await other.acquire(LEASE, timedelta(seconds=30)) is not None
    with pytest.raises(Conflict, match="another rebuild is under way") as refused:
        await rebuild(desk)
    assert refused.value.code == "rebuild_under_way"
    desk.clock.advance(timedelta(seconds=33))
    await rebuild(desk)
    await check_whole(desk.deps.store)


async def test_one_that_was_stopped_for_long_writes_nothing_after_another_took_over(desk: Desk) -> None:
    await live_through(desk, 0, 12)

    async def overtaken(commit: int) -> None:
        if commit == 3:
            desk.clock.advance(timedelta(minutes=2))
            await rebuild(desk, seed=2)

    with pytest.raises(Exception, match="rebuild"):
        await rebuild(desk, HookedStore(desk.deps.store, overtaken))
    await check_whole(desk.deps.store)
    assert (await read_head(desk.deps.store)).reading == 2


async def test_marks_are_gone_when_it_is_over(desk: Desk) -> None:
    await live_through(desk, 0, 3)
    made = await rebuild(desk)
    for name in made.logs:
        assert await desk.deps.store.get(REBUILD_MARKS.collection, mark_key(made.generation, name)) is None


async def test_it_tells_how_far_it_is(desk: Desk) -> None:
    await live_through(desk, 0, 30)
    told: list[tuple[str, int, int]] = []
    await rebuild_projections(Rebuilder(desk.deps.store, desk.clock, SeededIds(1), lambda *step: told.append(step)))
    assert [step for step in told if step[0] == "validations"][-1] == ("validations", 30, 30)
    assert told[-1] == ("outcomes", 30, 30)
    for name in ("validations", "outcomes"):
        done = [step[1] for step in told if step[0] == name]
        assert done == sorted(done)
        assert all(step[1] <= step[2] for step in told)
