import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from aex_runtime.errors import Conflict
from aex_runtime.generations import LEASE
from aex_runtime.leases import Leases
from aex_runtime.store.port import key_of
from aex_settlement.handlers.journal.rebuild import rebuild_ledger_projections
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import GENERATIONS, TABLES, read_projection_state
from aex_settlement.rules.journal import BrokenJournal
from aex_settlement.rules.projections import Projection
from tests.parts.crashing import Crash, CrashingStore, HookedStore
from tests.services.settlement.audit.tampering import overwrite, read
from tests.services.settlement.journal.booking import Settled, book
from tests.services.settlement.journal.recount import check_gone, check_projections
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.ledger_kit import LedgerKit, in_memory

BOTH = tuple(Projection)


def nowhere(_done: int, _total: int) -> None:
    """Ignore progress."""


async def a_ledger(ledger: LedgerKit, batches: int = 3) -> None:
    for number in range(batches):
        settled = [Settled(10 * number + each, agent=f"bot{each}") for each in range(3)]
        await book(ledger, *settled, settled[0].reversed)
        await ledger.seal()
        ledger.clock.advance(timedelta(hours=9))


async def generation(ledger: LedgerKit, projection: Projection) -> str:
    state = await read_projection_state(ledger.deps.store, projection)
    assert state is not None
    return state.generation


async def complete(ledger: LedgerKit) -> None:
    await check_projections(ledger.deps.store, await checked_journal(ledger.deps.store))


async def test_what_is_rebuilt_is_what_was_there_and_nothing_else_stays(ledger: LedgerKit) -> None:
    await a_ledger(ledger)
    old = {each: await generation(ledger, each) for each in BOTH}
    steps: list[tuple[int, int]] = []
    made = await rebuild_ledger_projections(ledger.deps, BOTH, lambda done, total: steps.append((done, total)))
    await complete(ledger)
    for each in made:
        assert each.generation == await generation(ledger, each.projection) != old[each.projection]
        assert (each.seq, each.removed > 0) == (4, True)
        await check_gone(ledger.deps.store, each.projection, old[each.projection])
    assert steps[-1] == (8, 8)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    await book(ledger, Settled(99))
    await ledger.seal()
    await complete(ledger)


async def test_one_projection_is_rebuilt_alone(ledger: LedgerKit) -> None:
    await a_ledger(ledger, 2)
    accounts = await generation(ledger, Projection.ACCOUNTS)
    await rebuild_ledger_projections(ledger.deps, [Projection.ROLLUPS], nowhere)
    assert await generation(ledger, Projection.ACCOUNTS) == accounts
    await complete(ledger)


async def test_an_empty_ledger_can_be_rebuilt(ledger: LedgerKit) -> None:
    made = await rebuild_ledger_projections(ledger.deps, BOTH, nowhere)
    assert [each.seq for each in made] == [0, 0]
    await a_ledger(ledger, 1)
    await complete(ledger)


async def test_damaged_projections_are_repaired(ledger: LedgerKit) -> None:
    await a_ledger(ledger, 2)
    for projection in BOTH:
        await _spoil(ledger, projection)
    with pytest.raises(AssertionError):
        await complete(ledger)
    await rebuild_ledger_projections(ledger.deps, BOTH, nowhere)
    await complete(ledger)


async def _spoil(ledger: LedgerKit, projection: Projection) -> None:
    for table in TABLES[projection]:
        found = await table.find(ledger.deps.store, {"generation": await generation(ledger, projection)}, limit=1)
        await overwrite(ledger.deps.store, table, found[0].document.key, None)


def fates(commit: int, fate: str) -> Iterator[str | None]:
    yield from [None] * commit
    yield fate


@in_memory
@pytest.mark.parametrize("fate", ["before", "after"])
async def test_killed_rebuild_keeps_the_old_generation_and_the_next_cleans_up(ledger: LedgerKit, fate: str) -> None:
    await a_ledger(ledger)
    for commit in range(100):
        dying = replace(ledger.deps, store=CrashingStore(ledger.deps.store, fates(commit, fate)))
        try:
            await rebuild_ledger_projections(dying, BOTH, nowhere)
        except Crash:
            await complete(ledger)
        else:
            break
        ledger.clock.advance(timedelta(minutes=2))  # its lease ends
    else:
        raise AssertionError("the rebuild never got through")
    assert commit > 8, "it did die in many places"
    await rebuild_ledger_projections(ledger.deps, BOTH, nowhere)
    await complete(ledger)
    for projection in BOTH:
        listed = await GENERATIONS.find(ledger.deps.store, {"projection": projection.value})
        assert [each.record.generation for each in listed] == [await generation(ledger, projection)]


async def test_second_concurrent_rebuild_is_refused(ledger: LedgerKit) -> None:
    await a_ledger(ledger, 1)
    other = Leases("settlement", ledger.deps.store, ledger.clock, holder="other")
    assert await other.acquire(LEASE, timedelta(seconds=30)) is not None
    with pytest.raises(Conflict, match="another rebuild is under way") as refused:
        await rebuild_ledger_projections(ledger.deps, BOTH, nowhere)
    assert refused.value.code == "rebuild_under_way"
    ledger.clock.advance(timedelta(seconds=33))
    await rebuild_ledger_projections(ledger.deps, BOTH, nowhere)


async def test_the_sealer_goes_on_while_a_rebuild_runs(ledger: LedgerKit) -> None:
    await a_ledger(ledger)

    async def seal_on() -> None:
        for contract in range(1_000, 1_012):
            await book(ledger, Settled(contract))
            await ledger.seal()

    sealing = asyncio.create_task(seal_on())
    for _ in range(3):
        await rebuild_ledger_projections(ledger.deps, BOTH, nowhere)
    await sealing
    await ledger.seal()
    await complete(ledger)


async def test_rebuild_never_moves_readers_back(ledger: LedgerKit) -> None:
    await a_ledger(ledger, 1)
    seen: list[int] = []

    async def look() -> None:
        state = await read_projection_state(ledger.deps.store, Projection.ROLLUPS)
        seen.append(state.seq if state else 0)

    async def overtake(commit: int) -> None:
        await look()
        if commit in (4, 6, 8):  # each time that it is about to change over
            await book(ledger, Settled(1_000 + commit))
            await ledger.seal()
        await look()

    await rebuild_ledger_projections(
        replace(ledger.deps, store=HookedStore(ledger.deps.store, overtake)), [Projection.ROLLUPS], nowhere
    )
    await overtake(99)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (2, 5)
    await complete(ledger)


async def test_a_journal_that_was_altered_is_not_rebuilt_from(ledger: LedgerKit) -> None:
    await a_ledger(ledger, 2)
    old = await generation(ledger, Projection.ROLLUPS)
    victim = (await checked_journal(ledger.deps.store)).sealed[-1]
    document = await read(ledger.deps.store, TRANSACTIONS, key_of(victim.id))
    await overwrite(ledger.deps.store, TRANSACTIONS, key_of(victim.id), document.body.replace(b"acme", b"emca"))
    with pytest.raises(BrokenJournal, match=victim.id):
        await rebuild_ledger_projections(ledger.deps, [Projection.ROLLUPS], nowhere)
    assert await generation(ledger, Projection.ROLLUPS) == old
