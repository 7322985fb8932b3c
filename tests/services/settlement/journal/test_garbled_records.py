from collections.abc import Mapping

import pytest

from aex_runtime.store.port import Collection, Query, Scalar, Transaction
from aex_settlement.handlers.journal.rebuild import rebuild_ledger_projections
from aex_settlement.handlers.post_transactions import settle_outcome
from aex_settlement.repository.journal import BATCHES, UNSEALED, read_unsealed_page
from aex_settlement.repository.projections import BALANCES, DAYS, GENERATIONS, ROLLUPS, STATES
from aex_settlement.rules.journal import UnreadableRecord
from aex_settlement.rules.projections import Projection
from tests.services.settlement.journal.recount import check_projections
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.ledger_kit import LedgerKit
from tests.services.settlement.outcomes import an_outcome

STORES = ["memory"]
PROJECTED = [BALANCES.collection, DAYS.collection, ROLLUPS.collection]
NO_MOMENTS: list[Mapping[str, Scalar]] = [
    {"occurred_at": "abc"},
    {"occurred_at": True},
    {"occurred_at": 2**63 - 1},
    {"occurred_at": -(2**63) + 1},
]


GARBLED = b'{"garbled": true}'
either_way = pytest.mark.parametrize("more", [False, True], ids=["of another shape", "with a field more"])
"""Variants of altered records: another shape, or a field of a newer version."""


async def put(ledger: LedgerKit, collection: Collection, key: str, fields: Mapping[str, Scalar], *, more: bool) -> None:
    async def write(transaction: Transaction) -> None:
        found = await transaction.get(collection, key) if more else None
        body = GARBLED if found is None else found.body.removesuffix(b"}") + b"," + GARBLED.removeprefix(b"{")
        transaction.put(collection, key, body, fields)

    await ledger.deps.store.transact(write)


async def settle(ledger: LedgerKit, *contracts: str) -> None:
    for contract_id in contracts:
        await settle_outcome(ledger.deps, an_outcome(contract_id))


@pytest.mark.parametrize("fields", NO_MOMENTS, ids=str)
async def test_a_row_at_no_moment_holds_up_no_other(ledger: LedgerKit, fields: Mapping[str, Scalar]) -> None:
    await put(ledger, UNSEALED.collection, "0000-forged", fields, more=False)
    await settle(ledger, "ctr_1", "ctr_2")
    assert await ledger.seal() == 2
    await settle(ledger, "ctr_3")
    assert await ledger.seal() == 1
    assert [row.record for row in await read_unsealed_page(ledger.deps.store, (), None, 10)] == [None]


@either_way
@pytest.mark.parametrize("collection", PROJECTED, ids=lambda each: each.name)
async def test_a_projected_record_is_named_sealing_goes_on_and_a_rebuild_mends_it(
    ledger: LedgerKit, collection: Collection, *, more: bool
) -> None:
    await settle(ledger, "ctr_1")
    await ledger.seal()
    for projection in Projection:
        state = await STATES.get(ledger.deps.store, projection.value)
        assert state is not None
        while found := await ledger.deps.store.query_page(
            Query(collection, {"generation": state.record.generation}, limit=50)
        ):
            for each in found:
                await put(ledger, collection, each.key, {"generation": "garbled"}, more=more)
    await settle(ledger, "ctr_2")
    with pytest.raises(UnreadableRecord, match=collection.name):
        await ledger.seal()
    assert await read_unsealed_page(ledger.deps.store, (), None, 10) == []
    await rebuild_ledger_projections(ledger.deps, list(Projection), lambda *_: None)
    await settle(ledger, "ctr_3")
    await ledger.seal()
    await check_projections(ledger.deps.store, await checked_journal(ledger.deps.store))


@either_way
async def test_an_unreadable_watermark_is_named_and_a_rebuild_mends_it(ledger: LedgerKit, *, more: bool) -> None:
    await settle(ledger, "ctr_1")
    await ledger.seal()
    for projection in Projection:
        await put(ledger, STATES.collection, projection.value, {}, more=more)
    await settle(ledger, "ctr_2")
    with pytest.raises(UnreadableRecord, match="settlement-projections"):
        await ledger.seal()
    await rebuild_ledger_projections(ledger.deps, list(Projection), lambda *_: None)
    await ledger.seal()
    await check_projections(ledger.deps.store, await checked_journal(ledger.deps.store))


@either_way
async def test_an_unreadable_generation_is_removed_by_the_next_rebuild(ledger: LedgerKit, *, more: bool) -> None:
    await settle(ledger, "ctr_1")
    await ledger.seal()
    await put(ledger, GENERATIONS.collection, "gen_forged", {"projection": "rollups"}, more=more)
    await rebuild_ledger_projections(ledger.deps, list(Projection), lambda *_: None)
    left = await ledger.deps.store.query_page(Query(GENERATIONS.collection, {"projection": "rollups"}))
    assert "gen_forged" not in [each.key for each in left]


@either_way
async def test_an_unreadable_batch_is_named(ledger: LedgerKit, *, more: bool) -> None:
    await settle(ledger, "ctr_1")
    await ledger.seal()
    [first, *_] = await ledger.deps.store.query_page(Query(BATCHES.collection, order="seq"))
    await put(ledger, BATCHES.collection, first.key, first.fields, more=more)
    with pytest.raises(UnreadableRecord, match=f"settlement-batches/{first.key}"):
        await rebuild_ledger_projections(ledger.deps, [Projection.ROLLUPS], lambda *_: None)
