from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from structlog.testing import capture_logs

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.settlement import LedgerTransaction
from aex_runtime.clock import epoch_micros
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.periods import Period
from aex_runtime.store.port import key_of
from aex_runtime.unit_of_work import Unit
from aex_settlement.handlers.journal.seal import SealerState, seal_unsealed_transactions
from aex_settlement.handlers.post_transactions import reverse_settlement, settle_outcome
from aex_settlement.repository.ledger import (
    TRANSACTIONS,
    create_unsealed_transactions,
    iterate_settlement_transaction_pages,
)
from aex_settlement.rules.batching import MAX_TRANSACTIONS
from aex_settlement.rules.projections import next_even_micros
from aex_settlement.rules.transactions import make_reversal_transaction_id, make_settlement_transaction_id
from tests.services.settlement.audit.tampering import overwrite, read
from tests.services.settlement.journal.booking import Settled, book, transaction_of
from tests.services.settlement.journal.test_sealing import alarms
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.ledger_kit import LedgerKit
from tests.services.settlement.outcomes import NOON, an_outcome

STORES = ["memory"]
ONCE = IdempotentRequest("finance", None, "")
INSTEAD = Replacement(base=Decimal("0.40"), bonus=Decimal("0.10"), penalty=Decimal(0))
REVERSAL, REPLACEMENT = make_reversal_transaction_id("ctr_1", 1), make_settlement_transaction_id("ctr_1", 2)


async def correct(ledger: LedgerKit, contract_id: str) -> None:
    request = ReversalRequest(reason="wrong rate", replacement=INSTEAD)
    await reverse_settlement(ledger.deps, contract_id, request, "finance:ann", ONCE)


async def exported(ledger: LedgerKit, until: int | None = None) -> list[str]:
    pages = iterate_settlement_transaction_pages(ledger.deps.store, {}, Period(None, until))
    return [each.id async for page in pages for each in page]


async def test_a_correction_is_never_cut_in_two(ledger: LedgerKit) -> None:
    await settle_outcome(ledger.deps, an_outcome("ctr_1"))
    await ledger.seal()
    await book(ledger, *(Settled(contract) for contract in range(1_000, 1_000 + MAX_TRANSACTIONS - 1)))
    ledger.clock.advance(timedelta(seconds=1))
    await correct(ledger, "ctr_1")
    assert await ledger.seal() == MAX_TRANSACTIONS + 1
    sealed = (await checked_journal(ledger.deps.store)).transactions
    assert [len(each) for each in sealed] == [0, 1, MAX_TRANSACTIONS - 1, 2]
    assert [each.id for each in sealed[-1]] == [REVERSAL, REPLACEMENT]


async def test_a_contract_s_bookings_stand_in_their_order_everywhere(ledger: LedgerKit) -> None:
    contracts = [f"ctr_{number}" for number in range(8)]
    for contract_id in contracts:
        await settle_outcome(ledger.deps, an_outcome(contract_id))
    for _ in range(2):  # at one instant, as a clock may say that is behind
        for contract_id in contracts:
            await correct(ledger, contract_id)
    await ledger.seal()
    sealed = [each.id for each in (await checked_journal(ledger.deps.store)).sealed]
    listed, rows = [each.id for each in await ledger.transactions()], await exported(ledger)
    for contract_id in contracts:
        made = [make_settlement_transaction_id(contract_id, 1)]
        for revision in (1, 2):
            made.append(make_reversal_transaction_id(contract_id, revision))
            made.append(make_settlement_transaction_id(contract_id, revision + 1))
        for found in (sealed, listed, rows):
            assert [each for each in found if each in made] == made
        positions = [sealed.index(each) for each in made]
        assert (positions[2], positions[4]) == (positions[1] + 1, positions[3] + 1), "a correction stands together"


async def test_just_before_midnight_both_halves_are_of_one_day(ledger: LedgerKit) -> None:
    await settle_outcome(ledger.deps, an_outcome("ctr_1"))
    midnight = datetime(2025, 3, 5, tzinfo=UTC)
    ledger.clock.advance(midnight - timedelta(microseconds=1) - ledger.clock.now())
    await correct(ledger, "ctr_1")
    _, back, replacement_at = await ledger.transactions()
    assert (back.id, back.occurred_at) == (REVERSAL, midnight)
    assert (replacement_at.id, replacement_at.occurred_at) == (REPLACEMENT, midnight + timedelta(microseconds=1))


@pytest.mark.parametrize("micros", range(4))
async def test_no_export_ends_between_the_halves(ledger: LedgerKit, micros: int) -> None:
    await settle_outcome(ledger.deps, an_outcome("ctr_1"))
    ledger.clock.advance(timedelta(seconds=1, microseconds=micros))
    now = epoch_micros(ledger.clock.now())
    await correct(ledger, "ctr_1")
    ends = [await exported(ledger, next_even_micros(now + each)) for each in range(-5, 6)]
    halves = [len({REVERSAL, REPLACEMENT} & set(each)) for each in ends]
    assert set(halves) == {0, 2}
    assert halves == sorted(halves)


@pytest.mark.parametrize("how", ["altered", "gone"])
@pytest.mark.parametrize(
    ("bad", "other"), [(REVERSAL, REPLACEMENT), (REPLACEMENT, REVERSAL)], ids=["reversal", "replacement"]
)
async def test_where_one_half_is_not_as_it_was_committed_both_wait(
    ledger: LedgerKit, bad: str, other: str, how: str
) -> None:
    await settle_outcome(ledger.deps, an_outcome("ctr_1"))
    await ledger.seal()
    await correct(ledger, "ctr_1")
    complete = await read(ledger.deps.store, TRANSACTIONS, key_of(bad))
    forged = complete.body.replace(b"acme", b"evil") if how == "altered" else None
    await overwrite(ledger.deps.store, TRANSACTIONS, key_of(bad), forged)
    state, reason = SealerState(), "it was altered" if how == "altered" else "it is gone"
    with capture_logs() as lines:
        assert await seal_unsealed_transactions(ledger.deps, state=state) == 0
        await book(ledger, Settled(2))
        assert await seal_unsealed_transactions(ledger.deps, state=state) == 1, "it holds up no other"
    assert state.refused == {bad: reason, other: f"it was committed with {bad}: {reason}"}
    assert sorted(alarms(lines)) == sorted(state.refused.items())
    if how == "altered":
        await overwrite(ledger.deps.store, TRANSACTIONS, key_of(bad), complete.body)
        assert await seal_unsealed_transactions(ledger.deps, state=state) == 2
        assert [each.id for each in (await checked_journal(ledger.deps.store)).sealed[-2:]] == [REVERSAL, REPLACEMENT]
        assert not state.refused


async def test_transaction_behind_another_leader_is_refused(ledger: LedgerKit) -> None:
    async def both(unit: Unit) -> None:
        create_unsealed_transactions(unit, one, other)

    one, other = drawn(1), drawn(2)
    with pytest.raises(ValueError, match=f"{other.id} is sealed behind {other.id}, not behind {one.id}"):
        await ledger.deps.unit_of_work.run(both)


def drawn(contract: int) -> LedgerTransaction:
    return transaction_of(Settled(contract), NOON)
