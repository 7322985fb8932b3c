"""Records that somebody wrote to: each is told of by name, holds up nothing else, and what can be made anew is."""

from collections.abc import Mapping

import pytest

from aex_runtime.store.port import Collection, Query, Scalar, Transaction
from aex_settlement.handlers.journal.rebuild_projections import rebuild
from aex_settlement.handlers.settle_outcome import settle_outcome
from aex_settlement.repository.journal import BATCHES, UNSEALED, waiting_page
from aex_settlement.repository.projections import BALANCES, DAYS, GENERATIONS, ROLLUPS, STATES
from aex_settlement.rules.broken import UnreadableRecord
from aex_settlement.rules.projected import Projection
from tests.services.settlement.desk import Desk
from tests.services.settlement.journal.recount import check_projections
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.outcomes import an_outcome

PROJECTED = [BALANCES.collection, DAYS.collection, ROLLUPS.collection]
NO_MOMENTS: list[Mapping[str, Scalar]] = [
    {"occurred_at": "abc"},
    {"occurred_at": True},
    {"occurred_at": 2**63 - 1},
    {"occurred_at": -(2**63) + 1},
]


GARBLED = b'{"garbled": true}'
either_way = pytest.mark.parametrize("more", [False, True], ids=["of another shape", "with a field more"])
"""How records are garbled: into something else, or into what a newer version might have written."""


async def put(desk: Desk, collection: Collection, key: str, fields: Mapping[str, Scalar], *, more: bool) -> None:
    async def write(transaction: Transaction) -> None:
        found = await transaction.get(collection, key) if more else None
        body = GARBLED if found is None else found.body.removesuffix(b"}") + b"," + GARBLED.removeprefix(b"{")
        transaction.put(collection, key, body, fields)

    await desk.deps.store.transact(write)


async def settle(desk: Desk, *contracts: str) -> None:
    for contract_id in contracts:
        await settle_outcome(desk.deps, an_outcome(contract_id))


@pytest.mark.parametrize("fields", NO_MOMENTS, ids=str)
async def test_a_row_at_no_moment_holds_up_no_other(desk: Desk, fields: Mapping[str, Scalar]) -> None:
    await put(desk, UNSEALED.collection, "0000-forged", fields, more=False)
    await settle(desk, "ctr_1", "ctr_2")
    assert await desk.seal() == 2
    await settle(desk, "ctr_3")
    assert await desk.seal() == 1
    assert [row.record for row in await waiting_page(desk.deps.store, (), None, 10)] == [None]


@either_way
@pytest.mark.parametrize("collection", PROJECTED, ids=lambda each: each.name)
async def test_a_projected_record_is_named_sealing_goes_on_and_a_rebuild_mends_it(
    desk: Desk, collection: Collection, *, more: bool
) -> None:
    await settle(desk, "ctr_1")
    await desk.seal()
    for projection in Projection:
        state = await STATES.get(desk.deps.store, projection.value)
        assert state is not None
        while found := await desk.deps.store.query(
            Query(collection, {"generation": state.record.generation}, limit=50)
        ):
            for each in found:
                await put(desk, collection, each.key, {"generation": "garbled"}, more=more)
    await settle(desk, "ctr_2")
    with pytest.raises(UnreadableRecord, match=collection.name):
        await desk.seal()
    assert await waiting_page(desk.deps.store, (), None, 10) == []
    await rebuild(desk.deps, list(Projection), lambda *_: None)
    await settle(desk, "ctr_3")
    await desk.seal()
    await check_projections(desk.deps.store, await checked_journal(desk.deps.store))


@either_way
async def test_an_unreadable_watermark_is_named_and_a_rebuild_mends_it(desk: Desk, *, more: bool) -> None:
    await settle(desk, "ctr_1")
    await desk.seal()
    for projection in Projection:
        await put(desk, STATES.collection, projection.value, {}, more=more)
    await settle(desk, "ctr_2")
    with pytest.raises(UnreadableRecord, match="settlement-projections"):
        await desk.seal()
    await rebuild(desk.deps, list(Projection), lambda *_: None)
    await desk.seal()
    await check_projections(desk.deps.store, await checked_journal(desk.deps.store))


@either_way
async def test_an_unreadable_generation_is_removed_by_the_next_rebuild(desk: Desk, *, more: bool) -> None:
    await settle(desk, "ctr_1")
    await desk.seal()
    await put(desk, GENERATIONS.collection, "gen_forged", {"projection": "rollups"}, more=more)
    await rebuild(desk.deps, list(Projection), lambda *_: None)
    left = await desk.deps.store.query(Query(GENERATIONS.collection, {"projection": "rollups"}))
    assert "gen_forged" not in [each.key for each in left]


@either_way
async def test_an_unreadable_batch_is_named(desk: Desk, *, more: bool) -> None:
    await settle(desk, "ctr_1")
    await desk.seal()
    [first, *_] = await desk.deps.store.query(Query(BATCHES.collection, order="seq"))
    await put(desk, BATCHES.collection, first.key, first.fields, more=more)
    with pytest.raises(UnreadableRecord, match=f"settlement-batches/{first.key}"):
        await rebuild(desk.deps, [Projection.ROLLUPS], lambda *_: None)
