from typing import Any

import pytest

from aex_runtime.store.port import Store
from aex_runtime.store.table import Table
from aex_settlement.repository.journal import BATCHES as BATCHES_TABLE
from aex_settlement.repository.journal import batch_key
from aex_settlement.repository.projections import ACCOUNT_PAGES, BALANCES, DAYS, ROLLUPS, STATES
from tests.services.settlement.audit import tampering as t
from tests.services.settlement.audit.ledgers import BATCHES, audit, found
from tests.services.settlement.audit.tampering import copying, deleting, editing, indexing
from tests.services.settlement.ledger_kit import LedgerKit


def stored(table: Table[Any], **fields: Any) -> t.Key:
    """Find the record with these fields in the current generation."""

    async def key(store: Store) -> str:
        name = "rollups" if table is ROLLUPS else "accounts"
        generation = STATES.decode(await t.read(store, STATES, name)).record.generation
        [found] = [
            each.document.key
            for each in await table.find(store, {"generation": generation}, limit=1_000)
            if all(getattr(each.record, field) == value for field, value in fields.items())
        ]
        return found

    return key


FEES: dict[str, Any] = {"account": "platform:fees", "currency": "USD"}
FEES_BALANCE = stored(BALANCES, **FEES)
FEES_DAY = stored(DAYS, **FEES, day="2025-03-02")
FEES_PAGE = stored(ACCOUNT_PAGES, **FEES, seq=4)
OF_BOT = stored(ROLLUPS, view="agent+consumer", agent="bot", consumer="acme")


def more(field: str) -> t.Change:
    def change(record: Any) -> None:
        record[field] = str(int(record[field]) + 10)

    return change


def more_on_a_day(record: Any) -> None:
    record["days"][0][6] = str(int(record["days"][0][6]) + 10)


def another_reason(record: Any) -> None:
    record["lines"][0]["reason"] = "as agreed"


BALANCE, DAY, PAGE = (
    "balance of platform:fees USD",
    "day of platform:fees USD, 2025-03-02",
    "sheet of platform:fees USD, batch 4",
)
ROLLUP = "rollup agent=bot, consumer=acme, USD 2025-03-01"
CASES: dict[str, tuple[t.Tamper, str]] = {
    "balance edited": (editing(BALANCES, FEES_BALANCE, more("balance")), BALANCE),
    "balance removed": (deleting(BALANCES, FEES_BALANCE), BALANCE),
    "balance copied": (copying(BALANCES, FEES_BALANCE, "ffff-copy"), "balance ffff-copy"),
    "balance hidden": (indexing(BALANCES, FEES_BALANCE, generation="gen_other"), BALANCE),
    "balance of another account": (indexing(BALANCES, FEES_BALANCE, account="agent:crony"), BALANCE),
    "day's closing edited": (editing(DAYS, FEES_DAY, more("closing")), DAY),
    "day's debits edited": (editing(DAYS, FEES_DAY, more("debits")), DAY),
    "day removed": (deleting(DAYS, FEES_DAY), DAY),
    "sheet's opening edited": (editing(ACCOUNT_PAGES, FEES_PAGE, more("opening")), PAGE),
    "sheet's line edited": (editing(ACCOUNT_PAGES, FEES_PAGE, another_reason), PAGE),
    "sheet removed": (deleting(ACCOUNT_PAGES, FEES_PAGE), PAGE),
    "rollup edited": (editing(ROLLUPS, OF_BOT, more_on_a_day), ROLLUP),
    "rollup removed": (deleting(ROLLUPS, OF_BOT), ROLLUP),
    "rollup copied": (copying(ROLLUPS, OF_BOT, "ffff-copy"), "rollup ffff-copy"),
    "rollup garbled": (editing(ROLLUPS, OF_BOT, lambda record: record.update(days="none")), ROLLUP),
    "rollup of another month": (indexing(ROLLUPS, OF_BOT, month="2031-01"), ROLLUP),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_differing_record_is_named_with_the_repair_command(ledger: LedgerKit, case: str) -> None:
    tamper, name = CASES[case]
    await tamper(ledger.deps.store)
    report = await audit(ledger)
    assert ("projection_differs", name) in found(report)
    assert all("aex rollups rebuild" in each.detail for each in report.findings.listed)


async def test_a_watermark_set_back_is_found_as_the_sums_are_further_on(ledger: LedgerKit) -> None:
    batch = await t.batch(ledger.deps.store, BATCHES - 1)
    state = STATES.decode(await t.read(ledger.deps.store, STATES, "rollups")).record
    back = state.model_copy(update={"seq": batch.seq, "sealed_at": batch.sealed_at})
    await t.save(ledger.deps.store, STATES, "rollups", back)
    assert ("projection_differs", "rollup of all, USD 2025-03-05") in found(await audit(ledger))


async def test_a_watermark_with_another_instant_is_found(ledger: LedgerKit) -> None:
    await t.edit(ledger.deps.store, STATES, "accounts", lambda state: state.update(sealed_at="2031-01-01T00:00:00Z"))
    assert ("projection_wrong", "accounts") in found(await audit(ledger))


async def test_a_projection_that_is_gone_is_found(ledger: LedgerKit) -> None:
    await t.delete(ledger.deps.store, STATES, "accounts")
    assert ("projection_missing", "accounts") in found(await audit(ledger))


async def test_projections_are_not_compared_with_a_damaged_journal(ledger: LedgerKit) -> None:
    await editing(ROLLUPS, OF_BOT, more_on_a_day)(ledger.deps.store)
    await t.edit(ledger.deps.store, BATCHES_TABLE, batch_key(3), lambda batch: batch.update(previous_hash="0" * 64))
    report = await audit(ledger)
    assert report.projections == {}
    assert not any(each.code.startswith("projection") for each in report.findings.listed)
