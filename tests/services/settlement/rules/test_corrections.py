from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.money import multiply_by_rate, to_micros
from aex_models.settlement import SettlementStatus, TransactionKind, sum_micros_by_currency
from aex_runtime.errors import Conflict, InvalidRequest
from aex_settlement.rules.settlements import (
    MAX_REVISIONS,
    apply_correction,
    build_zero_cost,
    choose_replacement_time,
    choose_reversal_time,
    compute_replacement_cost,
    is_paid_or_successful,
    require_correctable,
    require_nonnegative_replacement,
)
from aex_settlement.rules.transactions import build_reversal_transaction, build_settlement_transaction
from tests.libs.models.results import amounts, rates
from tests.services.settlement.outcomes import NOON, a_settlement

LATER = NOON + timedelta(days=2)
replacements = st.builds(Replacement, base=amounts, bonus=amounts, penalty=amounts)


def a_replacement(base: str = "0.80", bonus: str = "0.00", penalty: str = "0.30") -> Replacement:
    return Replacement(base=Decimal(base), bonus=Decimal(bonus), penalty=Decimal(penalty))


@given(replacements, rates)
def test_replacement_is_posted_unchanged_or_refused(replacement: Replacement, rate: Decimal) -> None:
    total = replacement.base + replacement.bonus - replacement.penalty
    if total < 0:
        with pytest.raises(InvalidRequest, match="negative_total") as refused:
            require_nonnegative_replacement(replacement)
        assert [problem.path for problem in refused.value.errors] == ["/replacement"]
        return
    require_nonnegative_replacement(replacement)
    settlement = a_settlement(fee_rate=rate)
    cost = compute_replacement_cost(settlement, replacement)
    assert (cost.base, cost.bonus, cost.penalty, cost.total) == (
        replacement.base, replacement.bonus, replacement.penalty, total,
    )  # fmt: skip
    assert cost.fee == multiply_by_rate(total, rate)
    assert cost.lines == ()
    assert cost.bonus_capped == cost.penalty_waived == 0
    posted = build_settlement_transaction(settlement, 2, cost, LATER, "", "")
    reversed_ = build_reversal_transaction(settlement, 2, cost, LATER, "", "")
    assert sum_micros_by_currency(posted.postings) == {"USD": 0}
    assert [each.amount for each in reversed_.postings] == [-each.amount for each in posted.postings]
    assert posted.postings[0].amount == to_micros(total)
    assert (posted.kind, reversed_.kind) == (TransactionKind.SETTLEMENT, TransactionKind.REVERSAL)
    assert posted.booking is not None
    assert reversed_.booking is not None
    for name in type(posted.booking).model_fields:
        own, other = getattr(posted.booking, name), getattr(reversed_.booking, name)
        assert other == (own if isinstance(own, str) or name == "revision" else -own), name


def test_a_reversal_keeps_the_revision_and_says_why_and_by_whom() -> None:
    before = a_settlement()
    after = apply_correction(before, ReversalRequest(reason="booked twice"), None, "ada", LATER)
    assert (after.status, after.revision, after.cost) == (SettlementStatus.REVERSED, 1, before.cost)
    (revision,) = after.revisions
    assert (revision.reversed_at, revision.reason, revision.by) == (LATER, "booked twice", "ada")
    assert revision.model_copy(update={"reversed_at": None, "reason": None, "by": None}) == before.revisions[0]


def test_a_replacement_becomes_the_next_revision() -> None:
    before = a_settlement()
    request = ReversalRequest(reason="wrong rate", replacement=a_replacement())
    cost = compute_replacement_cost(before, a_replacement())
    after = apply_correction(before, request, cost, "ada", LATER)
    assert (after.status, after.revision, after.cost, after.settled_at) == (SettlementStatus.SETTLED, 2, cost, NOON)
    first, second = after.revisions
    assert first.reversed_at == LATER
    replacement_at = LATER + timedelta(microseconds=1)
    assert (second.revision, second.cost, second.settled_at, second.reversed_at) == (2, cost, replacement_at, None)


def test_a_contract_takes_so_many_revisions_and_the_last_can_only_be_taken_back() -> None:
    last = a_settlement(revision=MAX_REVISIONS)
    request = ReversalRequest(reason="again", replacement=a_replacement())
    cost = compute_replacement_cost(last, a_replacement())
    with pytest.raises(Conflict, match="too_many_revisions"):
        apply_correction(last, request, cost, "ada", LATER)
    assert apply_correction(last, ReversalRequest(reason="x"), None, "ada", LATER).status is SettlementStatus.REVERSED
    before = last.model_copy(update={"revision": MAX_REVISIONS - 1})
    assert apply_correction(before, request, cost, "ada", LATER).revision == MAX_REVISIONS


def test_only_a_revision_that_stands_is_taken_back() -> None:
    current = a_settlement()
    require_correctable(current, None, None)
    require_correctable(current, 1, 1)
    for meant, seen in ((2, 1), (None, 2), (2, None)):
        with pytest.raises(Conflict, match="revision_changed"):
            require_correctable(current, meant, seen)
    gone = apply_correction(current, ReversalRequest(reason="x"), None, "ada", LATER)
    with pytest.raises(Conflict, match="already_reversed"):
        require_correctable(gone, None, 1)


def test_nothing_is_what_a_reversed_contract_costs() -> None:
    cost = build_zero_cost(a_settlement(fee_rate=Decimal("0.5")))
    assert cost.total == cost.fee == cost.base == 0
    assert (cost.currency, cost.contract_id) == ("USD", "ctr_1")


moments = st.datetimes(datetime(2025, 2, 27), datetime(2025, 3, 4)).map(lambda moment: moment.replace(tzinfo=UTC))  # noqa: DTZ001 it gets its zone
last_moments = st.dates(datetime(2025, 2, 27).date(), datetime(2025, 3, 4).date()).map(  # noqa: DTZ001
    lambda day: datetime(day.year, day.month, day.day, 23, 59, 59, 999_999, UTC)
)


@given(moments | last_moments | st.just(NOON))
def test_a_correction_comes_behind_what_it_takes_back_and_both_halves_are_of_one_day(now: datetime) -> None:
    settlement = a_settlement()
    back = choose_reversal_time(settlement, now)
    replacement_at = choose_replacement_time(back)
    assert settlement.settled_at < back < replacement_at
    assert back.date() == replacement_at.date()
    assert now <= back
    assert back - max(now, settlement.settled_at) <= timedelta(microseconds=2)
    repeated = apply_correction(
        settlement, ReversalRequest(reason="x", replacement=a_replacement()), build_zero_cost(settlement), "", back
    )
    assert repeated.revisions[-1].settled_at == replacement_at
    assert choose_reversal_time(repeated, now) > replacement_at


def test_outcome_is_paid_with_a_success_or_a_total_above_0_in_any_revision() -> None:
    assert is_paid_or_successful(a_settlement())
    free = a_settlement(success=False, cost=build_zero_cost(a_settlement()))
    assert not is_paid_or_successful(free)
    request = ReversalRequest(reason="agreed", replacement=a_replacement())
    corrected = apply_correction(free, request, compute_replacement_cost(free, a_replacement()), "fin", LATER)
    assert is_paid_or_successful(corrected)
    cancelled = apply_correction(corrected, ReversalRequest(reason="no"), None, "fin", LATER)
    assert is_paid_or_successful(cancelled)
