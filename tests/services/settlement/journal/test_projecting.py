from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from aex_models.settlement import TransactionKind
from aex_runtime.store.port import key_of
from aex_settlement.handlers.journal.project import apply_sealed_batches_to_projections
from aex_settlement.handlers.journal.seal import seal_unsealed_transactions
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import BALANCES, DAYS, ROLLUPS, read_projection_state
from aex_settlement.rules.journal import BrokenJournal
from aex_settlement.rules.projections import Projection, Rollup
from tests.parts.crashing import CrashingStore
from tests.services.settlement.audit.tampering import overwrite, read
from tests.services.settlement.journal.booking import BIG, Moved, Settled, book
from tests.services.settlement.journal.recount import check_projections
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.ledger_kit import LedgerKit


async def rollups(ledger: LedgerKit, view: str = "") -> list[Rollup]:
    state = await read_projection_state(ledger.deps.store, Projection.ROLLUPS)
    assert state is not None
    equal = {"generation": state.generation, "view": view}
    return [each.record for each in await ROLLUPS.find(ledger.deps.store, equal, "month")]


async def test_a_settlement_and_its_reversal_leave_nothing_but_their_days(ledger: LedgerKit) -> None:
    one = Settled(1)
    await book(ledger, one)
    ledger.clock.advance(timedelta(days=1))
    await book(ledger, one.reversed)
    await ledger.seal()
    ((first, second),) = [each.days for each in await rollups(ledger)]
    assert first == ("2025-03-01", 1, 1, 750_000, 750_007, 7, 1_500_000)
    assert second == ("2025-03-02", -1, -1, -750_000, -750_007, -7, -1_500_000)
    assert {each.record.balance for each in await BALANCES.find(ledger.deps.store, await _of(ledger))} == {0}


async def test_settlement_counts_on_its_commit_day_though_sealed_later(ledger: LedgerKit) -> None:
    ledger.clock.advance(datetime(2025, 3, 31, 23, 59, 59, tzinfo=UTC) - ledger.clock.now())
    await book(ledger, Settled(1))
    ledger.clock.advance(timedelta(seconds=2))
    await book(ledger, Settled(2))
    await ledger.seal()
    assert [(each.month, [day.day for day in each.days]) for each in await rollups(ledger)] == [
        ("2025-03", ["2025-03-31"]),
        ("2025-04", ["2025-04-01"]),
    ]
    days = await DAYS.find(ledger.deps.store, await _of(ledger, account="agent:bot"), "day")
    assert [(each.record.day, each.record.credits) for each in days] == [("2025-04-01", 2_999_800)]


async def test_a_booking_for_a_day_long_past_is_added_to_it(ledger: LedgerKit) -> None:
    await book(ledger, Settled(1))
    ledger.clock.advance(timedelta(days=40))
    await book(ledger, Settled(2))
    await ledger.seal()
    ledger.clock.advance(-timedelta(days=40))
    await book(ledger, Settled(3))
    await ledger.seal()
    assert [[day.settlements for day in each.days] for each in await rollups(ledger)] == [[2], [1]]
    await check_projections(ledger.deps.store, await checked_journal(ledger.deps.store))


async def test_sums_larger_than_json_integers_are_exact(ledger: LedgerKit) -> None:
    settled = [Settled(contract, total=BIG) for contract in range(3)]
    cash = [Moved(each, TransactionKind.DEPOSIT, "platform:cash", "consumer:globex", BIG) for each in range(5)]
    await book(ledger, *settled, *cash)
    await ledger.seal()
    assert (await rollups(ledger))[0].days[0].total == 3 * BIG
    (held,) = await BALANCES.find(ledger.deps.store, await _of(ledger, account="platform:cash"))
    assert held.record.balance == 5 * BIG
    await check_projections(ledger.deps.store, await checked_journal(ledger.deps.store))


@pytest.mark.parametrize("how", ["altered", "gone"])
async def test_a_sealed_transaction_that_is_not_what_was_sealed_stops_the_projections_alone(
    ledger: LedgerKit, how: str
) -> None:
    (transaction, _) = await book(ledger, Settled(1), Settled(2))
    await seal_unsealed_transactions(ledger.deps)
    key = key_of(transaction.id)
    complete = await read(ledger.deps.store, TRANSACTIONS, key)
    await overwrite(
        ledger.deps.store, TRANSACTIONS, key, None if how == "gone" else complete.body.replace(b"bot", b"cat")
    )
    with pytest.raises(BrokenJournal, match=transaction.id) as broken:
        await apply_sealed_batches_to_projections(ledger.deps)
    assert (broken.value.seq, broken.value.transaction_id) == (2, transaction.id)
    await book(ledger, Settled(3))
    assert await seal_unsealed_transactions(ledger.deps) == 1
    for projection in Projection:
        state = await read_projection_state(ledger.deps.store, projection)
        assert state is None or state.seq < 2


async def test_many_batches_are_caught_up_with_in_few_commits(ledger: LedgerKit) -> None:
    for contract in range(12):
        await book(ledger, Settled(contract))
        await seal_unsealed_transactions(ledger.deps)
    counted = CrashingStore(ledger.deps.store, iter(()))
    assert await apply_sealed_batches_to_projections(replace(ledger.deps, store=counted)) == 13
    assert counted.commits == 2, "one for each projection"
    assert await apply_sealed_batches_to_projections(ledger.deps) == 0
    await check_projections(ledger.deps.store, await checked_journal(ledger.deps.store))


async def _of(ledger: LedgerKit, **equal: str) -> dict[str, str]:
    state = await read_projection_state(ledger.deps.store, Projection.ACCOUNTS)
    assert state is not None
    return {"generation": state.generation, **equal}
