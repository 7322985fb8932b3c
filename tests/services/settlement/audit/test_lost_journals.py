"""A ledger whose journal is gone, and with it all that tells of it, or a part of that."""

from collections.abc import Sequence
from typing import Any

import pytest

from aex_runtime.store.port import Query, Store
from aex_runtime.store.table import Table
from aex_settlement.handlers.audit.verify import NoLedger
from aex_settlement.repository.journal import BATCHES, HEAD, HEAD_KEY
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS
from aex_settlement.repository.projections import STATES
from aex_settlement.rules.projections import Projection
from tests.services.settlement.audit import tampering as t
from tests.services.settlement.audit.ledgers import BATCHES as LAST
from tests.services.settlement.audit.ledgers import adjust, audit, found
from tests.services.settlement.audit.test_tampered_ledgers import CTR_3
from tests.services.settlement.ledger_kit import LedgerKit

HEADLESS = {("head_wrong", "the journal's head"), ("batch_missing", "batch 1")}


async def clear(store: Store, table: Table[Any]) -> None:
    index = table.collection.indexes[0]
    for document in await store.query_page(
        Query(table.collection, order=index.order, direction=index.direction, limit=500)
    ):
        await t.delete(store, table, document.key)


async def lose(store: Store, *tables: Table[Any], watermarks: Sequence[Projection] = ()) -> None:
    await t.delete(store, HEAD, HEAD_KEY)
    for table in (BATCHES, *tables):
        await clear(store, table)
    for each in watermarks:
        await t.delete(store, STATES, each.value)


async def test_a_ledger_without_its_journal_is_not_a_new_one(ledger: LedgerKit) -> None:
    await lose(ledger.deps.store)
    report = await audit(ledger)
    assert HEADLESS | {("transaction_added", CTR_3)} <= found(report)
    assert any(f"batches 1 to {LAST}" in each.detail for each in report.findings.listed)


@pytest.mark.parametrize("left", Projection)
async def test_one_watermark_shows_that_batches_existed(ledger: LedgerKit, left: Projection) -> None:
    others = [each for each in Projection if each is not left]
    await lose(ledger.deps.store, TRANSACTIONS, SETTLEMENTS, watermarks=others)
    assert found(await audit(ledger)) == HEADLESS


@pytest.mark.parametrize(
    ("lost", "expected"),
    [((), ("transaction_added", CTR_3)), ((TRANSACTIONS,), ("settlement_differs", "ctr_3"))],
    ids=["watermarks", "transactions and watermarks"],
)
async def test_records_without_a_journal_are_found(
    ledger: LedgerKit, lost: Sequence[Table[Any]], expected: tuple[str, str]
) -> None:
    await lose(ledger.deps.store, *lost, watermarks=list(Projection))
    assert expected in found(await audit(ledger))


async def test_empty_store_has_no_ledger(empty: LedgerKit) -> None:
    with pytest.raises(NoLedger):
        await audit(empty)


async def test_what_waits_for_the_very_first_batch_is_no_finding(empty: LedgerKit) -> None:
    waiting = await adjust(empty)
    report = await audit(empty)
    assert (report.findings.listed, report.batches, report.first_waiting) == ([], 0, (waiting,))


async def test_watermark_shows_removed_last_batches(ledger: LedgerKit) -> None:
    await t.delete(ledger.deps.store, HEAD, HEAD_KEY)
    await t.delete(ledger.deps.store, BATCHES, f"{LAST:012d}")
    assert ("batch_missing", f"batch {LAST}") in found(await audit(ledger))
