"""What was committed as one, a reversal with what is booked instead, is sealed as one and in its order."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from structlog.testing import capture_logs

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.settlement import LedgerTransaction
from aex_runtime.clock import epoch_micros
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.periods import Period
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit
from aex_settlement.handlers.journal.seal import Lookout, seal_waiting
from aex_settlement.handlers.reverse_settlement import reverse_settlement
from aex_settlement.handlers.settle_outcome import settle_outcome
from aex_settlement.repository.bookings import booking_pages
from aex_settlement.repository.ledger import TRANSACTIONS, create_transactions
from aex_settlement.rules.batching import MAX_TRANSACTIONS
from aex_settlement.rules.ids import reversal_transaction_id, settlement_transaction_id
from aex_settlement.rules.periods import even_end
from tests.services.settlement.desk import Desk
from tests.services.settlement.journal.booking import Settled, book, transaction_of
from tests.services.settlement.journal.test_sealing import alarms, tamper
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.outcomes import NOON, an_outcome

ONCE = IdempotentRequest("finance", None, "")
INSTEAD = Replacement(base=Decimal("0.40"), bonus=Decimal("0.10"), penalty=Decimal(0))
BACK, ANEW = reversal_transaction_id("ctr_1", 1), settlement_transaction_id("ctr_1", 2)


async def correct(desk: Desk, contract_id: str) -> None:
    request = ReversalRequest(reason="wrong rate", replacement=INSTEAD)
    await reverse_settlement(desk.deps, contract_id, request, "finance:ann", ONCE)


async def exported(desk: Desk, until: int | None = None) -> list[str]:
    pages = booking_pages(desk.deps.store, {}, Period(None, until))
    return [each.id async for page in pages for each in page]


async def test_a_correction_is_never_cut_in_two(desk: Desk) -> None:
    await settle_outcome(desk.deps, an_outcome("ctr_1"))
    await desk.seal()
    await book(desk, *(Settled(contract) for contract in range(1_000, 1_000 + MAX_TRANSACTIONS - 1)))
    desk.clock.advance(timedelta(seconds=1))
    await correct(desk, "ctr_1")
    assert await desk.seal() == MAX_TRANSACTIONS + 1
    sealed = (await checked_journal(desk.deps.store)).transactions
    assert [len(each) for each in sealed] == [0, 1, MAX_TRANSACTIONS - 1, 2]
    assert [each.id for each in sealed[-1]] == [BACK, ANEW]


async def test_a_contract_s_bookings_stand_in_their_order_everywhere(desk: Desk) -> None:
    contracts = [f"ctr_{number}" for number in range(8)]
    for contract_id in contracts:
        await settle_outcome(desk.deps, an_outcome(contract_id))
    for _ in range(2):  # at one instant, as a clock may say that is behind
        for contract_id in contracts:
            await correct(desk, contract_id)
    await desk.seal()
    sealed = [each.id for each in (await checked_journal(desk.deps.store)).sealed]
    listed, rows = [each.id for each in await desk.transactions()], await exported(desk)
    for contract_id in contracts:
        made = [settlement_transaction_id(contract_id, 1)]
        for revision in (1, 2):
            made.append(reversal_transaction_id(contract_id, revision))
            made.append(settlement_transaction_id(contract_id, revision + 1))
        for found in (sealed, listed, rows):
            assert [each for each in found if each in made] == made
        places = [sealed.index(each) for each in made]
        assert (places[2], places[4]) == (places[1] + 1, places[3] + 1), "a correction stands together"


async def test_just_before_midnight_both_halves_are_of_one_day(desk: Desk) -> None:
    await settle_outcome(desk.deps, an_outcome("ctr_1"))
    midnight = datetime(2025, 3, 5, tzinfo=UTC)
    desk.clock.advance(midnight - timedelta(microseconds=1) - desk.clock.now())
    await correct(desk, "ctr_1")
    _, back, anew = await desk.transactions()
    assert (back.id, back.occurred_at) == (BACK, midnight)
    assert (anew.id, anew.occurred_at) == (ANEW, midnight + timedelta(microseconds=1))


@pytest.mark.parametrize("micros", range(4))
async def test_no_export_ends_between_the_halves(desk: Desk, micros: int) -> None:
    await settle_outcome(desk.deps, an_outcome("ctr_1"))
    desk.clock.advance(timedelta(seconds=1, microseconds=micros))
    now = epoch_micros(desk.clock.now())
    await correct(desk, "ctr_1")
    ends = [await exported(desk, even_end(now + each)) for each in range(-5, 6)]
    halves = [len({BACK, ANEW} & set(each)) for each in ends]
    assert set(halves) == {0, 2}
    assert halves == sorted(halves)


@pytest.mark.parametrize("how", ["altered", "gone"])
@pytest.mark.parametrize(("bad", "other"), [(BACK, ANEW), (ANEW, BACK)], ids=["reversal", "replacement"])
async def test_where_one_half_is_not_as_it_was_committed_both_wait(desk: Desk, bad: str, other: str, how: str) -> None:
    await settle_outcome(desk.deps, an_outcome("ctr_1"))
    await desk.seal()
    await correct(desk, "ctr_1")
    whole = await desk.deps.store.get(TRANSACTIONS.collection, key_of(bad))
    assert whole is not None
    forged = whole.body.replace(b"acme", b"evil") if how == "altered" else None
    await tamper(desk, TRANSACTIONS.collection, key_of(bad), forged)
    lookout, reason = Lookout(), "it was altered" if how == "altered" else "it is gone"
    with capture_logs() as lines:
        assert await seal_waiting(desk.deps, lookout=lookout) == 0
        await book(desk, Settled(2))
        assert await seal_waiting(desk.deps, lookout=lookout) == 1, "it holds up no other"
    assert lookout.refused == {bad: reason, other: f"it was committed with {bad}: {reason}"}
    assert sorted(alarms(lines)) == sorted(lookout.refused.items())
    if how == "altered":
        await tamper(desk, TRANSACTIONS.collection, key_of(bad), whole.body)
        assert await seal_waiting(desk.deps, lookout=lookout) == 2
        assert [each.id for each in (await checked_journal(desk.deps.store)).sealed[-2:]] == [BACK, ANEW]
        assert not lookout.refused


async def test_what_nobody_would_find_behind_another_is_not_written(desk: Desk) -> None:
    async def both(unit: Unit) -> None:
        create_transactions(unit, one, other)

    one, other = drawn(1), drawn(2)
    with pytest.raises(ValueError, match=f"{other.id} is sealed behind {other.id}, not behind {one.id}"):
        await desk.deps.unit_of_work.run(both)


def drawn(contract: int) -> LedgerTransaction:
    return transaction_of(Settled(contract), NOON)
