"""Rebuilding: the same projections made anew beside the old, which are read until the very moment of the change."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from aex_runtime.errors import Conflict
from aex_runtime.leases import Leases
from aex_runtime.store.keys import key_of
from aex_settlement.handlers.journal.rebuild_projections import LEASE, rebuild
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import GENERATIONS, TABLES, read_state
from aex_settlement.rules.broken import BrokenJournal
from aex_settlement.rules.projected import Projection
from tests.parts.crashing import Crash, CrashingStore, HookedStore
from tests.services.settlement.desk import Desk
from tests.services.settlement.journal.booking import Settled, book
from tests.services.settlement.journal.recount import check_gone, check_projections
from tests.services.settlement.journal.test_sealing import tamper
from tests.services.settlement.journal.wholeness import checked_journal

BOTH = tuple(Projection)


def nowhere(_done: int, _total: int) -> None:
    """Nobody watches."""


async def a_ledger(desk: Desk, batches: int = 6) -> None:
    for number in range(batches):
        settled = [Settled(10 * number + each, agent=f"bot{each}") for each in range(3)]
        await book(desk, *settled, settled[0].reversed)
        await desk.seal()
        desk.clock.advance(timedelta(hours=9))


async def generation(desk: Desk, projection: Projection) -> str:
    state = await read_state(desk.deps.store, projection)
    assert state is not None
    return state.record.generation


async def whole(desk: Desk) -> None:
    await check_projections(desk.deps.store, await checked_journal(desk.deps.store))


async def test_what_is_rebuilt_is_what_was_there_and_nothing_else_stays(desk: Desk) -> None:
    await a_ledger(desk)
    old = {each: await generation(desk, each) for each in BOTH}
    steps: list[tuple[int, int]] = []
    made = await rebuild(desk.deps, BOTH, lambda done, total: steps.append((done, total)))
    await whole(desk)
    for each in made:
        assert each.generation == await generation(desk, each.projection) != old[each.projection]
        assert (each.seq, each.removed > 0) == (7, True)
        await check_gone(desk.deps.store, each.projection, old[each.projection])
    assert steps[-1] == (14, 14)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)


async def test_projections_go_on_after_a_rebuild(desk: Desk) -> None:
    await a_ledger(desk, 2)
    await rebuild(desk.deps, BOTH, nowhere)
    await a_ledger(desk, 0)
    await book(desk, Settled(99))
    await desk.seal()
    await whole(desk)


async def test_one_projection_is_rebuilt_alone(desk: Desk) -> None:
    await a_ledger(desk, 2)
    accounts = await generation(desk, Projection.ACCOUNTS)
    await rebuild(desk.deps, [Projection.ROLLUPS], nowhere)
    assert await generation(desk, Projection.ACCOUNTS) == accounts
    await whole(desk)


async def test_an_empty_ledger_can_be_rebuilt(desk: Desk) -> None:
    made = await rebuild(desk.deps, BOTH, nowhere)
    assert [each.seq for each in made] == [0, 0]
    await a_ledger(desk, 1)
    await whole(desk)


async def test_projections_that_somebody_spoilt_are_made_right(desk: Desk) -> None:
    await a_ledger(desk, 2)
    for projection in BOTH:
        await _spoil(desk, projection)
    with pytest.raises(AssertionError):
        await whole(desk)
    await rebuild(desk.deps, BOTH, nowhere)
    await whole(desk)


async def _spoil(desk: Desk, projection: Projection) -> None:
    for table in TABLES[projection]:
        found = await table.find(desk.deps.store, {"generation": await generation(desk, projection)}, limit=1)
        await tamper(desk, table.collection, found[0].document.key, None)


def fates(commit: int, fate: str) -> Iterator[str | None]:
    yield from [None] * commit
    yield fate


@pytest.mark.parametrize("fate", ["before", "after"])
async def test_a_rebuild_killed_at_any_commit_leaves_readers_what_they_had_and_the_next_one_tidies_up(
    desk: Desk, fate: str
) -> None:
    await a_ledger(desk, 3)
    for commit in range(100):
        dying = replace(desk.deps, store=CrashingStore(desk.deps.store, fates(commit, fate)))
        try:
            await rebuild(dying, BOTH, nowhere)
        except Crash:
            await whole(desk)
        else:
            break
        desk.clock.advance(timedelta(minutes=2))  # its lease ends
    else:
        raise AssertionError("the rebuild never got through")
    assert commit > 8, "it did die in many places"
    await rebuild(desk.deps, BOTH, nowhere)
    await whole(desk)
    for projection in BOTH:
        listed = await GENERATIONS.find(desk.deps.store, {"projection": projection.value})
        assert [each.record.generation for each in listed] == [await generation(desk, projection)]


async def test_two_rebuilds_at_once_are_one_too_many(desk: Desk) -> None:
    await a_ledger(desk, 1)
    other = Leases("settlement", desk.deps.store, desk.clock, holder="other")
    assert await other.acquire(LEASE, timedelta(seconds=30)) is not None
    with pytest.raises(Conflict, match="another rebuild is under way") as refused:
        await rebuild(desk.deps, BOTH, nowhere)
    assert refused.value.code == "rebuild_under_way"
    desk.clock.advance(timedelta(seconds=33))
    await rebuild(desk.deps, BOTH, nowhere)


async def test_the_sealer_goes_on_while_a_rebuild_runs(desk: Desk) -> None:
    await a_ledger(desk, 3)

    async def seal_on() -> None:
        for contract in range(1_000, 1_030):
            await book(desk, Settled(contract))
            await desk.seal()

    sealing = asyncio.create_task(seal_on())
    for _ in range(3):
        await rebuild(desk.deps, BOTH, nowhere)
    await sealing
    await desk.seal()
    await whole(desk)


async def test_a_rebuild_that_is_overtaken_again_and_again_never_puts_readers_back(desk: Desk) -> None:
    await a_ledger(desk, 1)
    seen: list[int] = []

    async def look() -> None:
        state = await read_state(desk.deps.store, Projection.ROLLUPS)
        seen.append(state.record.seq if state else 0)

    async def overtake(commit: int) -> None:
        await look()
        if commit in (4, 6, 8):  # each time that it is about to change over
            await book(desk, Settled(1_000 + commit))
            await desk.seal()
        await look()

    await rebuild(replace(desk.deps, store=HookedStore(desk.deps.store, overtake)), [Projection.ROLLUPS], nowhere)
    await overtake(99)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (2, 5)
    await whole(desk)


async def test_a_journal_that_was_altered_is_not_rebuilt_from(desk: Desk) -> None:
    await a_ledger(desk, 2)
    old = await generation(desk, Projection.ROLLUPS)
    victim = (await checked_journal(desk.deps.store)).sealed[-1]
    document = await desk.deps.store.get(TRANSACTIONS.collection, key_of(victim.id))
    assert document is not None
    await tamper(desk, TRANSACTIONS.collection, key_of(victim.id), document.body.replace(b"acme", b"emca"))
    with pytest.raises(BrokenJournal, match=victim.id):
        await rebuild(desk.deps, [Projection.ROLLUPS], nowhere)
    assert await generation(desk, Projection.ROLLUPS) == old
