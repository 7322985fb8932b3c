"""Applying: each batch once to each projection, whatever it holds and whoever else is at it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from aex_models.settlement import TransactionKind
from aex_runtime.store.keys import key_of
from aex_settlement.handlers.journal.project import project_sealed
from aex_settlement.handlers.journal.seal import seal_waiting
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import BALANCES, DAYS, ROLLUPS, read_state
from aex_settlement.rules.broken import BrokenJournal
from aex_settlement.rules.projected import Projection, Rollup
from tests.parts.crashing import CrashingStore
from tests.services.settlement.desk import Desk
from tests.services.settlement.journal.booking import BIG, Moved, Settled, book
from tests.services.settlement.journal.recount import check_projections
from tests.services.settlement.journal.test_sealing import tamper
from tests.services.settlement.journal.wholeness import checked_journal


async def rollups(desk: Desk, view: str = "") -> list[Rollup]:
    state = await read_state(desk.deps.store, Projection.ROLLUPS)
    assert state is not None
    equal = {"generation": state.record.generation, "view": view}
    return [each.record for each in await ROLLUPS.find(desk.deps.store, equal, "month")]


async def test_a_settlement_and_its_reversal_leave_nothing_but_their_days(desk: Desk) -> None:
    one = Settled(1)
    await book(desk, one)
    desk.clock.advance(timedelta(days=1))
    await book(desk, one.reversed)
    await desk.seal()
    ((first, second),) = [each.days for each in await rollups(desk)]
    assert first == ("2025-03-01", 1, 1, 750_000, 750_007, 7, 1_500_000)
    assert second == ("2025-03-02", -1, -1, -750_000, -750_007, -7, -1_500_000)
    assert {each.record.balance for each in await BALANCES.find(desk.deps.store, await _of(desk))} == {0}


async def test_what_was_booked_before_midnight_and_sealed_after_counts_for_the_day_it_was_booked(desk: Desk) -> None:
    desk.clock.advance(datetime(2025, 3, 31, 23, 59, 59, tzinfo=UTC) - desk.clock.now())
    await book(desk, Settled(1))
    desk.clock.advance(timedelta(seconds=2))
    await book(desk, Settled(2))
    await desk.seal()
    assert [(each.month, [day.day for day in each.days]) for each in await rollups(desk)] == [
        ("2025-03", ["2025-03-31"]),
        ("2025-04", ["2025-04-01"]),
    ]
    days = await DAYS.find(desk.deps.store, await _of(desk, account="agent:bot"), "day")
    assert [(each.record.day, each.record.credits) for each in days] == [("2025-04-01", 2_999_800)]


async def test_a_booking_for_a_day_long_past_is_added_to_it(desk: Desk) -> None:
    await book(desk, Settled(1))
    desk.clock.advance(timedelta(days=40))
    await book(desk, Settled(2))
    await desk.seal()
    desk.clock.advance(-timedelta(days=40))
    await book(desk, Settled(3))
    await desk.seal()
    assert [[day.booked for day in each.days] for each in await rollups(desk)] == [[2], [1]]
    await check_projections(desk.deps.store, await checked_journal(desk.deps.store))


async def test_currencies_are_never_added(desk: Desk) -> None:
    await book(desk, Settled(1), Settled(2, currency="EUR"))
    await desk.seal()
    assert sorted((each.currency, each.days[0].booked) for each in await rollups(desk)) == [("EUR", 1), ("USD", 1)]
    found = await BALANCES.find(desk.deps.store, await _of(desk, account="agent:bot"))
    assert sorted(each.record.currency for each in found) == ["EUR", "USD"]


async def test_sums_larger_than_json_integers_are_exact(desk: Desk) -> None:
    settled = [Settled(contract, total=BIG) for contract in range(3)]
    cash = [Moved(each, TransactionKind.DEPOSIT, "platform:cash", "consumer:globex", BIG) for each in range(5)]
    await book(desk, *settled, *cash)
    await desk.seal()
    assert (await rollups(desk))[0].days[0].total == 3 * BIG
    (held,) = await BALANCES.find(desk.deps.store, await _of(desk, account="platform:cash"))
    assert held.record.balance == 5 * BIG
    await check_projections(desk.deps.store, await checked_journal(desk.deps.store))


@pytest.mark.parametrize("how", ["altered", "gone"])
async def test_a_sealed_transaction_that_is_not_what_was_sealed_stops_the_projections_alone(
    desk: Desk, how: str
) -> None:
    (transaction, _) = await book(desk, Settled(1), Settled(2))
    await seal_waiting(desk.deps)
    key = key_of(transaction.id)
    whole = await desk.deps.store.get(TRANSACTIONS.collection, key)
    assert whole is not None
    await tamper(desk, TRANSACTIONS.collection, key, None if how == "gone" else whole.body.replace(b"bot", b"cat"))
    with pytest.raises(BrokenJournal, match=transaction.id) as broken:
        await project_sealed(desk.deps)
    assert (broken.value.seq, broken.value.transaction_id) == (2, transaction.id)
    await book(desk, Settled(3))
    assert await seal_waiting(desk.deps) == 1
    for projection in Projection:
        state = await read_state(desk.deps.store, projection)
        assert state is None or state.record.seq < 2


async def test_many_batches_are_caught_up_with_in_few_commits(desk: Desk) -> None:
    for contract in range(12):
        await book(desk, Settled(contract))
        await seal_waiting(desk.deps)
    counted = CrashingStore(desk.deps.store, iter(()))
    assert await project_sealed(replace(desk.deps, store=counted)) == 13
    assert counted.commits == 2, "one for each projection"
    assert await project_sealed(desk.deps) == 0
    await check_projections(desk.deps.store, await checked_journal(desk.deps.store))


async def _of(desk: Desk, **equal: str) -> dict[str, str]:
    state = await read_state(desk.deps.store, Projection.ACCOUNTS)
    assert state is not None
    return {"generation": state.record.generation, **equal}
