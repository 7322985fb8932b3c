"""A correction takes one revision back, books the next where finance says so, and changes nothing else."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.money import share, to_micros
from aex_models.settlement import SettlementStatus, TransactionKind, sums_by_currency
from aex_runtime.errors import Conflict, InvalidRequest
from aex_settlement.rules.booked import reversal_transaction, settlement_transaction
from aex_settlement.rules.corrections import (
    MAX_REVISIONS,
    booked_anew_at,
    check_correctable,
    check_replacement,
    corrected,
    no_cost,
    replaced_cost,
    taken_back_at,
)
from tests.libs.models.results import amounts, rates
from tests.services.settlement.outcomes import NOON, a_settlement

LATER = NOON + timedelta(days=2)
replacements = st.builds(Replacement, base=amounts, bonus=amounts, penalty=amounts)


def a_replacement(base: str = "0.80", bonus: str = "0.00", penalty: str = "0.30") -> Replacement:
    return Replacement(base=Decimal(base), bonus=Decimal(bonus), penalty=Decimal(penalty))


@given(replacements, rates)
def test_a_replacement_is_booked_as_it_stands_or_refused(replacement: Replacement, rate: Decimal) -> None:
    total = replacement.base + replacement.bonus - replacement.penalty
    if total < 0:
        with pytest.raises(InvalidRequest, match="negative_total") as refused:
            check_replacement(replacement)
        assert [problem.path for problem in refused.value.errors] == ["/replacement"]
        return
    check_replacement(replacement)
    settlement = a_settlement(fee_rate=rate)
    cost = replaced_cost(settlement, replacement)
    assert (cost.base, cost.bonus, cost.penalty, cost.total) == (
        replacement.base, replacement.bonus, replacement.penalty, total,
    )  # fmt: skip
    assert cost.fee == share(total, rate)
    assert cost.lines == ()
    assert cost.bonus_capped == cost.penalty_waived == 0
    booked = settlement_transaction(settlement, 2, cost, LATER, "", "")
    reversed_ = reversal_transaction(settlement, 2, cost, LATER, "", "")
    assert sums_by_currency(booked.postings) == {"USD": 0}
    assert [each.amount for each in reversed_.postings] == [-each.amount for each in booked.postings]
    assert booked.postings[0].amount == to_micros(total)
    assert (booked.kind, reversed_.kind) == (TransactionKind.SETTLEMENT, TransactionKind.REVERSAL)
    assert booked.booking is not None
    assert reversed_.booking is not None
    for name in type(booked.booking).model_fields:
        mine, theirs = getattr(booked.booking, name), getattr(reversed_.booking, name)
        assert theirs == (mine if isinstance(mine, str) or name == "revision" else -mine), name


def test_a_reversal_keeps_the_revision_and_says_why_and_by_whom() -> None:
    before = a_settlement()
    after = corrected(before, ReversalRequest(reason="booked twice"), None, "ada", LATER)
    assert (after.status, after.revision, after.cost) == (SettlementStatus.REVERSED, 1, before.cost)
    (revision,) = after.revisions
    assert (revision.reversed_at, revision.reason, revision.by) == (LATER, "booked twice", "ada")
    assert revision.model_copy(update={"reversed_at": None, "reason": None, "by": None}) == before.revisions[0]


def test_a_replacement_becomes_the_next_revision() -> None:
    before = a_settlement()
    request = ReversalRequest(reason="wrong rate", replacement=a_replacement())
    cost = replaced_cost(before, a_replacement())
    after = corrected(before, request, cost, "ada", LATER)
    assert (after.status, after.revision, after.cost, after.settled_at) == (SettlementStatus.SETTLED, 2, cost, NOON)
    first, second = after.revisions
    assert first.reversed_at == LATER
    anew = LATER + timedelta(microseconds=1)
    assert (second.revision, second.cost, second.settled_at, second.reversed_at) == (2, cost, anew, None)


def test_a_contract_takes_so_many_revisions_and_the_last_can_only_be_taken_back() -> None:
    last = a_settlement(revision=MAX_REVISIONS)
    request = ReversalRequest(reason="again", replacement=a_replacement())
    cost = replaced_cost(last, a_replacement())
    with pytest.raises(Conflict, match="too_many_revisions"):
        corrected(last, request, cost, "ada", LATER)
    assert corrected(last, ReversalRequest(reason="x"), None, "ada", LATER).status is SettlementStatus.REVERSED
    before = last.model_copy(update={"revision": MAX_REVISIONS - 1})
    assert corrected(before, request, cost, "ada", LATER).revision == MAX_REVISIONS


def test_only_a_revision_that_stands_is_taken_back() -> None:
    standing = a_settlement()
    check_correctable(standing, None, None)
    check_correctable(standing, 1, 1)
    for meant, seen in ((2, 1), (None, 2), (2, None)):
        with pytest.raises(Conflict, match="revision_changed"):
            check_correctable(standing, meant, seen)
    gone = corrected(standing, ReversalRequest(reason="x"), None, "ada", LATER)
    with pytest.raises(Conflict, match="already_reversed"):
        check_correctable(gone, None, 1)


def test_nothing_is_what_a_reversed_contract_costs() -> None:
    cost = no_cost(a_settlement(fee_rate=Decimal("0.5")))
    assert cost.total == cost.fee == cost.base == 0
    assert (cost.currency, cost.contract_id) == ("USD", "ctr_1")


moments = st.datetimes(datetime(2025, 2, 27), datetime(2025, 3, 4)).map(lambda moment: moment.replace(tzinfo=UTC))  # noqa: DTZ001 it gets its zone
last_moments = st.dates(datetime(2025, 2, 27).date(), datetime(2025, 3, 4).date()).map(  # noqa: DTZ001
    lambda day: datetime(day.year, day.month, day.day, 23, 59, 59, 999_999, UTC)
)


@given(moments | last_moments | st.just(NOON))
def test_a_correction_comes_behind_what_it_takes_back_and_both_halves_are_of_one_day(now: datetime) -> None:
    settlement = a_settlement()
    back = taken_back_at(settlement, now)
    anew = booked_anew_at(back)
    assert settlement.settled_at < back < anew
    assert back.date() == anew.date()
    assert now <= back
    assert back - max(now, settlement.settled_at) <= timedelta(microseconds=2)
    again = corrected(
        settlement, ReversalRequest(reason="x", replacement=a_replacement()), no_cost(settlement), "", back
    )
    assert again.revisions[-1].settled_at == anew
    assert taken_back_at(again, now) > anew
