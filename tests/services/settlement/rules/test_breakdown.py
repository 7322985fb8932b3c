"""A breakdown is an exact sum for each group, whatever the order, and never adds currencies."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.settlement import BreakdownRow, LedgerTransaction, SettlementBreakdown, TransactionKind
from aex_runtime.errors import InvalidRequest
from aex_settlement.rules import breakdown
from aex_settlement.rules.breakdown import GROUPS, BreakdownFold, choose_view_dimensions, parse_groups
from aex_settlement.rules.projections import DaySpan, Rollup
from aex_settlement.rules.rollups import build_updated_rollup, compute_rollup_changes, view_name
from aex_settlement.rules.transactions import build_reversal_transaction, build_settlement_transaction
from tests.libs.models.results import a_result, results, terms
from tests.services.settlement.outcomes import NOON, a_settlement


def posted(at: datetime = NOON, **changes: Any) -> LedgerTransaction:
    settlement = a_settlement(**changes)
    return build_settlement_transaction(settlement, 1, settlement.cost, at, "", "")


def reversal(at: datetime = NOON, **changes: Any) -> LedgerTransaction:
    settlement = a_settlement(**changes)
    return build_reversal_transaction(settlement, 1, settlement.cost, at, "", "")


moments = st.sampled_from([NOON - timedelta(hours=12), NOON, NOON + timedelta(hours=12), NOON + timedelta(days=31)])
changes = st.fixed_dictionaries(
    {
        "agent_id": st.sampled_from(["bot", "crew"]),
        "consumer_id": st.sampled_from(["acme", "globex"]),
        "domain": st.sampled_from(["general", "physics"]),
        "success": st.booleans(),
        "cost": st.builds(cost, terms, results()),
    }
)
bookings = st.builds(lambda make, at, given: make(at, **given), st.sampled_from([posted, reversal]), moments, changes)
groups = st.lists(st.sampled_from(GROUPS), min_size=1, max_size=2, unique=True).map(tuple)


def rollups_of(transactions: Iterable[LedgerTransaction], view: str) -> list[Rollup]:
    found = compute_rollup_changes(transactions)
    return [build_updated_rollup("g", group, None, days) for group, days in found.items() if group.view == view]


def broken_down(
    by: tuple[str, ...], transactions: Sequence[LedgerTransaction], days: DaySpan | None = None, currency: Any = None
) -> SettlementBreakdown:
    fold = BreakdownFold(by, days or DaySpan(), currency)
    for rollup in rollups_of(transactions, view_name(choose_view_dimensions(by, {}))):
        fold.add(rollup)
    return fold.build_breakdown(NOON)


def key(transaction: LedgerTransaction, group: str) -> str:
    day = transaction.occurred_at.astimezone(UTC).date().isoformat()
    named = {"day": day, "month": day[:7]}
    return named.get(group) or getattr(transaction.booking, f"{group}_id", None) or getattr(transaction.booking, group)


@given(groups, st.lists(bookings, max_size=12), st.randoms())
def test_rows_and_totals_are_exact_sums_in_any_order(
    by: tuple[str, ...], given_: list[LedgerTransaction], dice_value: Any
) -> None:
    found = broken_down(by, given_)
    for row in found.rows:
        members = [
            each
            for each in given_
            if each.postings[0].currency == row.currency and all(key(each, name) == getattr(row, name) for name in by)
        ]
        assert_sums(row, members)
    for total in found.totals:
        assert_sums(total, [each for each in given_ if each.postings[0].currency == total.currency])
    assert len(found.rows) == len({(*(key(each, name) for name in by), each.postings[0].currency) for each in given_})
    shuffled = given_[:]
    dice_value.shuffle(shuffled)
    assert broken_down(by, shuffled) == found


def assert_sums(row: BreakdownRow, members: list[LedgerTransaction]) -> None:
    assert members
    counted = [each.booking for each in members if each.booking]
    assert row.count == sum(1 if each.kind is TransactionKind.SETTLEMENT else -1 for each in members)
    assert row.success_count == sum(each.success_count for each in counted)
    for name in ("cpc", "cpa_bonus", "cpa_penalty", "total"):
        assert Fraction(getattr(row, name)) == sum(Fraction(getattr(each, name), 10**6) for each in counted)
    assert row.cpc + row.cpa_bonus - row.cpa_penalty == row.total


def test_reversed_group_is_a_row_of_zeros() -> None:
    later = NOON + timedelta(days=1)
    given_ = [posted(), reversal(), posted(later, agent_id="crew")]
    by_agent = broken_down(("agent",), given_)
    assert [(row.agent, row.count, row.total) for row in by_agent.rows] == [("bot", 0, 0), ("crew", 1, Decimal("1.00"))]
    first_day = broken_down(("agent",), given_, DaySpan(last="2025-03-01"))
    assert [row.agent for row in first_day.rows] == ["bot"]


@pytest.mark.parametrize(
    ("first", "last", "counted"),
    [
        (None, None, 3),
        ("2025-03-01", "2025-03-01", 1),
        ("2025-03-02", None, 2),
        (None, "2025-03-02", 2),
        ("2025-03-03", "2025-03-31", 1),
        ("2025-03-04", None, 0),
    ],
)
def test_days_are_cut_out_of_their_month(first: str | None, last: str | None, counted: int) -> None:
    given_ = [posted(NOON + timedelta(days=number)) for number in range(3)]
    found = broken_down(("month",), given_, DaySpan(first, last))
    assert sum(row.count for row in found.rows) == counted


def test_a_sum_may_exceed_the_largest_amount() -> None:
    rich = cost(Terms(cpc_rate=Decimal(1_000_000_000)), a_result())
    assert broken_down(("agent",), [posted(cost=rich)] * 20).totals[0].total == 20_000_000_000


def test_currencies_stand_in_rows_of_their_own() -> None:
    euros = cost(Terms(cpc_rate=Decimal(3), currency="EUR"), a_result())
    given_ = [posted(), posted(cost=euros)]
    found = broken_down(("agent",), given_)
    assert [f"{row.agent} {row.currency} {row.total:.2f}" for row in found.rows] == ["bot EUR 3.00", "bot USD 1.00"]
    assert [f"{row.agent} {row.currency} {row.total:.2f}" for row in found.totals] == ["None EUR 3.00", "None USD 1.00"]
    assert [row.currency for row in broken_down(("agent",), given_, currency="EUR").rows] == ["EUR"]


def test_more_rows_than_an_answer_takes_are_refused_with_the_way_out() -> None:
    fold = BreakdownFold(("agent",))
    (rollup,) = rollups_of([posted()], "agent")
    for number in range(breakdown.MAX_ROWS):
        fold.add(rollup.model_copy(update={"agent": f"bot-{number}"}))
    fold.add(rollup.model_copy(update={"agent": "bot-0"}))
    with pytest.raises(InvalidRequest, match="take a shorter period, or one group") as refused:
        fold.add(rollup)
    assert refused.value.code == "too_many_rows"


@pytest.mark.parametrize(
    ("by", "own", "view"),
    [
        (("day",), {}, ""),
        (("domain", "agent"), {}, "agent+domain"),
        (("day", "month"), {"consumer": "acme"}, "consumer"),
        (("agent", "domain"), {"consumer": "acme"}, "agent+consumer+domain"),
        (("consumer",), {"consumer": "acme"}, "consumer"),
    ],
)
def test_a_readers_own_dimension_is_in_its_view(by: tuple[str, ...], own: dict[str, str], view: str) -> None:
    assert view_name(choose_view_dimensions(by, own)) == view


def test_groups_are_named_by_comma_or_repeated() -> None:
    assert parse_groups(["agent"]) == ("agent",)
    assert parse_groups(["agent,day"]) == parse_groups(["agent", "day"]) == parse_groups(["agent, day"])


@pytest.mark.parametrize(
    ("given_as", "code"),
    [
        (["colour"], "unknown_group"),
        (["agent,"], "unknown_group"),
        ([""], "unknown_group"),
        (["Agent"], "unknown_group"),
        (["agent,day,domain"], "too_many_groups"),
        (["day", "day"], "repeated_group"),
        ([], "no_group"),
    ],
)
def test_groups_that_make_no_breakdown_are_refused(given_as: list[str], code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_groups(given_as)
    assert refused.value.code == code
    assert refused.value.errors[0].path == "query/group_by"
