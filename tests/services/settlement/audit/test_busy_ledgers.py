"""An audit beside a suite that goes on settling, sealing and projecting: what comes meanwhile is no finding."""

from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from aex_models.corrections import ReversalRequest
from aex_runtime.store.port import Collection
from aex_runtime.store.table import Table
from aex_settlement.handlers.audit_ledger import Audited, audit_ledger
from aex_settlement.handlers.journal.rebuild_projections import rebuild
from aex_settlement.handlers.journal.seal import seal_waiting
from aex_settlement.handlers.reverse_settlement import reverse_settlement
from aex_settlement.handlers.settle_outcome import settle_outcome
from aex_settlement.repository.projections import BALANCES, DAYS, ROLLUPS, SHEETS
from aex_settlement.rules.projected import Projection
from tests.services.settlement.audit.busy import BusyStore, Happening
from tests.services.settlement.audit.ledgers import ONCE, audit, build, deposit, found
from tests.services.settlement.desk import Desk
from tests.services.settlement.outcomes import an_outcome


async def audit_while(
    desk: Desk, happens: Happening, times: int, held: int = 50_000, only: Collection | None = None, spared: int = 0
) -> Audited:
    store = BusyStore(desk.deps.store, happens, times, only, spared)
    audited = await audit_ledger(replace(desk.deps, store=store), [], lambda _stage, _done, _total: None, held)
    assert store.left == 0
    return audited


async def fill(desk: Desk, contracts: int) -> None:
    """So many contracts, each of its own agent, so that there is more than one page of most records."""
    await build(desk)
    for number in range(contracts):
        await settle_outcome(desk.deps, an_outcome(f"ctr_many_{number}", agent_id=f"agent_{number}"))
    await desk.seal()


def settling(desk: Desk) -> Happening:
    """Each time: another contract of an agent who has one, a deposit, now and then a reversal; all of it sealed."""
    numbers = count()

    async def settle() -> None:
        number = next(numbers)
        desk.clock.advance(timedelta(hours=7))
        await settle_outcome(desk.deps, an_outcome(f"ctr_new_{number}", agent_id=f"agent_{number}"))
        await deposit(desk)
        if number % 2:
            reversal = ReversalRequest(reason="late")
            await reverse_settlement(desk.deps, f"ctr_many_{number}", reversal, "finance:ann", ONCE)
        await desk.seal()

    return settle


@pytest.mark.parametrize("held", [50_000, 20], ids=["held by name", "folded into buckets"])
async def test_what_is_settled_and_sealed_meanwhile_is_no_finding(desk: Desk, held: int) -> None:
    await fill(desk, 210)
    assert found(await audit_while(desk, settling(desk), 12, held)) == set()


@pytest.mark.parametrize("held", [50_000, 20], ids=["held by name", "folded into buckets"])
@pytest.mark.parametrize("table", [BALANCES, SHEETS, DAYS, ROLLUPS], ids=lambda table: table.collection.name)
async def test_what_moves_between_two_pages_of_a_projection_counts_for_the_pages_that_follow(
    desk: Desk, table: Table[Any], held: int
) -> None:
    await fill(desk, 410)
    only = table.collection
    assert found(await audit_while(desk, settling(desk), 3, held, only, spared=1)) == set()


async def test_what_is_sealed_and_not_yet_projected_is_no_finding(desk: Desk) -> None:
    await build(desk)

    async def seal() -> None:
        await deposit(desk)
        await seal_waiting(desk.deps)

    assert found(await audit_while(desk, seal, 5)) == set()


async def test_a_projection_that_lags_from_the_start_is_compared_as_far_as_it_is(desk: Desk) -> None:
    await build(desk)
    await deposit(desk)
    await seal_waiting(desk.deps)
    audited = await audit(desk)
    assert found(audited) == set()
    assert audited.seal is not None
    assert audited.projections == dict.fromkeys(("accounts", "rollups"), audited.seal.seq - 1)


@pytest.mark.slow
async def test_a_rebuild_meanwhile_is_no_finding(desk: Desk) -> None:
    await fill(desk, 210)

    async def make_anew() -> None:
        await rebuild(desk.deps, list(Projection), lambda _done, _total: None)

    for times in (2, 8):
        assert found(await audit_while(desk, make_anew, times)) == set()


@pytest.mark.slow
async def test_what_never_rests_is_not_taken_for_compared(desk: Desk) -> None:
    await build(desk)

    async def move() -> None:
        await deposit(desk)
        await desk.seal()

    store = BusyStore(desk.deps.store, move, 400)
    audited = await audit_ledger(replace(desk.deps, store=store), [], lambda _stage, _done, _total: None)
    assert ("projection_unread", "accounts") in found(audited)
