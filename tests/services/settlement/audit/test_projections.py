"""What is projected equals a recount of the journal; where it does not, that is found and named, with what mends it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from aex_runtime.store.port import Document, Store
from aex_runtime.store.table import Table
from aex_settlement.handlers.audit_ledger import Audited, audit_ledger
from aex_settlement.repository.journal import BATCHES as BATCHES_TABLE
from aex_settlement.repository.journal import batch_key
from aex_settlement.repository.projections import BALANCES, DAYS, ROLLUPS, SHEETS, STATES
from tests.services.settlement.audit import tampering as t
from tests.services.settlement.audit.ledgers import BATCHES, build, found
from tests.services.settlement.desk import Desk

Tamper = Callable[[Store], Awaitable[None]]


async def stored(store: Store, table: Table[Any], **fields: Any) -> Document:
    """The only document of the generation that is read with these contents."""
    name = "rollups" if table is ROLLUPS else "accounts"
    generation = STATES.decode(await t.read(store, STATES, name)).record.generation
    [document] = [
        each
        for each in await t.some(store, table.collection, generation=generation)
        if all(getattr(table.decode(each).record, field) == value for field, value in fields.items())
    ]
    return document


FEES: dict[str, Any] = {"account": "platform:fees", "currency": "USD"}
FEES_DAY = FEES | {"day": "2025-03-02"}
FEES_SHEET = FEES | {"seq": 4}
OF_BOT: dict[str, Any] = {"view": "agent+consumer", "agent": "bot", "consumer": "acme"}


def editing(table: Table[Any], where: dict[str, Any], change: t.Change) -> Tamper:
    async def tamper(store: Store) -> None:
        await t.edit(store, table, (await stored(store, table, **where)).key, change)

    return tamper


def deleting(table: Table[Any], where: dict[str, Any]) -> Tamper:
    async def tamper(store: Store) -> None:
        await t.delete(store, table, (await stored(store, table, **where)).key)

    return tamper


def copying(table: Table[Any], where: dict[str, Any]) -> Tamper:
    async def tamper(store: Store) -> None:
        document = await stored(store, table, **where)
        await t.put(store, table, "ffff-copy", document.body, document.fields)

    return tamper


def hiding(table: Table[Any], where: dict[str, Any], **fields: Any) -> Tamper:
    async def tamper(store: Store) -> None:
        await t.edit_fields(store, table, (await stored(store, table, **where)).key, **fields)

    return tamper


def more(field: str) -> t.Change:
    """Ten micros more in a sum."""

    def change(record: Any) -> None:
        record[field] = str(int(record[field]) + 10)

    return change


def more_on_a_day(record: Any) -> None:
    record["days"][0][6] = str(int(record["days"][0][6]) + 10)


def another_reason(record: Any) -> None:
    record["lines"][0]["reason"] = "as agreed"


BALANCE, DAY, SHEET = (
    "balance of platform:fees USD",
    "day of platform:fees USD, 2025-03-02",
    "sheet of platform:fees USD, batch 4",
)
ROLLUP = "rollup agent=bot, consumer=acme, USD 2025-03-01"
CASES: dict[str, tuple[Tamper, str]] = {
    "balance edited": (editing(BALANCES, FEES, more("balance")), BALANCE),
    "balance removed": (deleting(BALANCES, FEES), BALANCE),
    "balance copied": (copying(BALANCES, FEES), "balance ffff-copy"),
    "balance hidden": (hiding(BALANCES, FEES, generation="gen_other"), BALANCE),
    "balance of another account": (hiding(BALANCES, FEES, account="agent:crony"), BALANCE),
    "day's closing edited": (editing(DAYS, FEES_DAY, more("closing")), DAY),
    "day's debits edited": (editing(DAYS, FEES_DAY, more("debits")), DAY),
    "day removed": (deleting(DAYS, FEES_DAY), DAY),
    "sheet's opening edited": (editing(SHEETS, FEES_SHEET, more("opening")), SHEET),
    "sheet's line edited": (editing(SHEETS, FEES_SHEET, another_reason), SHEET),
    "sheet removed": (deleting(SHEETS, FEES_SHEET), SHEET),
    "rollup edited": (editing(ROLLUPS, OF_BOT, more_on_a_day), ROLLUP),
    "rollup removed": (deleting(ROLLUPS, OF_BOT), ROLLUP),
    "rollup copied": (copying(ROLLUPS, OF_BOT), "rollup ffff-copy"),
    "rollup garbled": (editing(ROLLUPS, OF_BOT, lambda record: record.update(days="none")), ROLLUP),
    "rollup of another month": (hiding(ROLLUPS, OF_BOT, month="2031-01"), ROLLUP),
}


async def audit(desk: Desk, held: int) -> Audited:
    return await audit_ledger(desk.deps, [], lambda _stage, _done, _total: None, held)


@pytest.mark.parametrize("held", [50_000, 5], ids=["held by name", "folded into buckets"])
@pytest.mark.parametrize("case", CASES)
async def test_what_differs_from_the_journal_is_named_with_the_command_that_mends_it(
    desk: Desk, case: str, held: int
) -> None:
    tamper, name = CASES[case]
    await build(desk)
    assert found(await audit(desk, held)) == set()
    await tamper(desk.deps.store)
    audited = await audit(desk, held)
    assert ("projection_differs", name) in found(audited)
    assert all("aex rollups rebuild" in each.detail for each in audited.findings.shown)


async def test_a_watermark_set_back_is_found_as_the_sums_are_further_on(desk: Desk) -> None:
    await build(desk)
    batch = await t.batch(desk.deps.store, BATCHES - 1)
    state = STATES.decode(await t.read(desk.deps.store, STATES, "rollups")).record
    back = state.model_copy(update={"seq": batch.seq, "sealed_at": batch.sealed_at})
    await t.save(desk.deps.store, STATES, "rollups", back)
    assert ("projection_differs", "rollup of all, USD 2025-03-05") in found(await audit(desk, 50_000))


async def test_a_watermark_with_another_instant_is_found(desk: Desk) -> None:
    await build(desk)
    await t.edit(desk.deps.store, STATES, "accounts", lambda state: state.update(sealed_at="2031-01-01T00:00:00Z"))
    assert ("projection_wrong", "accounts") in found(await audit(desk, 50_000))


async def test_a_projection_that_is_gone_is_found(desk: Desk) -> None:
    await build(desk)
    await t.delete(desk.deps.store, STATES, "accounts")
    assert ("projection_missing", "accounts") in found(await audit(desk, 50_000))


async def test_nothing_is_said_of_projections_while_the_journal_is_not_in_order(desk: Desk) -> None:
    """What they come to would be recounted from what was altered, and a rebuild would hide it."""
    await build(desk)
    await editing(ROLLUPS, OF_BOT, more_on_a_day)(desk.deps.store)
    await t.edit(desk.deps.store, BATCHES_TABLE, batch_key(3), lambda batch: batch.update(previous_hash="0" * 64))
    audited = await audit(desk, 50_000)
    assert audited.projections == {}
    assert not any(each.code.startswith("projection") for each in audited.findings.shown)
