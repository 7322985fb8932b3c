"""A ledger whose journal is gone, and with it all that tells of it, or a part of that."""

from collections.abc import Sequence
from typing import Any

import pytest

from aex_runtime.store.port import Query, Store
from aex_runtime.store.table import Table
from aex_settlement.handlers.audit.journal_end import NoLedger
from aex_settlement.repository.journal import BATCHES, HEAD, HEAD_KEY
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import STATES
from aex_settlement.repository.settlements import SETTLEMENTS
from aex_settlement.rules.projected import Projection
from tests.services.settlement.audit import tampering as t
from tests.services.settlement.audit.ledgers import BATCHES as LAST
from tests.services.settlement.audit.ledgers import adjust, audit, build, found
from tests.services.settlement.audit.test_tampered_ledgers import CTR_3
from tests.services.settlement.desk import Desk

HEADLESS = {("head_wrong", "the journal's head"), ("batch_missing", "batch 1")}


async def clear(store: Store, table: Table[Any]) -> None:
    """Remove all that is there."""
    index = table.collection.indexes[0]
    for document in await store.query(Query(table.collection, order=index.order, direction=index.direction, limit=500)):
        await t.delete(store, table, document.key)


async def lose(store: Store, *tables: Table[Any], watermarks: Sequence[Projection] = ()) -> None:
    await t.delete(store, HEAD, HEAD_KEY)
    for table in (BATCHES, *tables):
        await clear(store, table)
    for each in watermarks:
        await t.delete(store, STATES, each.value)


async def test_a_ledger_without_its_journal_is_not_a_new_one(desk: Desk) -> None:
    await build(desk)
    await lose(desk.deps.store)
    audited = await audit(desk)
    assert HEADLESS | {("transaction_added", CTR_3)} <= found(audited)
    assert any(f"batches 1 to {LAST}" in each.detail for each in audited.findings.shown)


@pytest.mark.parametrize("left", Projection)
async def test_one_watermark_tells_of_all_the_batches(desk: Desk, left: Projection) -> None:
    await build(desk)
    others = [each for each in Projection if each is not left]
    await lose(desk.deps.store, TRANSACTIONS, SETTLEMENTS, watermarks=others)
    assert found(await audit(desk)) == HEADLESS


async def test_what_is_booked_and_waits_no_more_tells_that_it_was_sealed(desk: Desk) -> None:
    await build(desk)
    await lose(desk.deps.store, watermarks=list(Projection))
    assert ("transaction_added", CTR_3) in found(await audit(desk))


async def test_settlements_alone_tell_that_there_was_a_ledger(desk: Desk) -> None:
    await build(desk)
    await lose(desk.deps.store, TRANSACTIONS, watermarks=list(Projection))
    assert ("settlement_differs", "ctr_3") in found(await audit(desk))


async def test_where_nothing_was_ever_booked_there_is_no_ledger(desk: Desk) -> None:
    with pytest.raises(NoLedger):
        await audit(desk)


async def test_what_waits_for_the_very_first_batch_is_no_finding(desk: Desk) -> None:
    waiting = await adjust(desk)
    audited = await audit(desk)
    assert (audited.findings.shown, audited.batches, audited.first_waiting) == ([], 0, (waiting,))


async def test_a_watermark_tells_of_the_last_batches_where_they_are_gone_with_the_head(desk: Desk) -> None:
    await build(desk)
    await t.delete(desk.deps.store, HEAD, HEAD_KEY)
    await t.delete(desk.deps.store, BATCHES, f"{LAST:012d}")
    assert ("batch_missing", f"batch {LAST}") in found(await audit(desk))
