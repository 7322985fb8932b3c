"""A breakdown is an exact sum for each group, whatever the order, and never adds currencies."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.settlement import BreakdownRow, Settlement, SettlementBreakdown, SettlementRevision, SettlementStatus
from aex_runtime.errors import InvalidRequest
from aex_settlement.rules.breakdown import GROUPS, BreakdownFold, parse_groups
from tests.libs.models.results import a_result, results, terms

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


def a_settlement(at: datetime = NOON, **changes: Any) -> Settlement:
    amounts = changes.pop("cost", None) or cost(Terms(cpc_rate=Decimal(1)), a_result())
    fields: dict[str, Any] = {
        "contract_id": "ctr_1",
        "work_id": "work_1",
        "agent_id": "bot",
        "consumer_id": "acme",
        "domain": "general",
        "success": True,
        "status": SettlementStatus.SETTLED,
        "revision": 1,
        "revisions": (SettlementRevision(revision=1, cost=amounts, settled_at=at),),
        "cost": amounts,
        "settled_at": at,
    }
    return Settlement(**(fields | changes))


settlements = st.builds(
    a_settlement,
    st.sampled_from([NOON - timedelta(hours=12), NOON, NOON + timedelta(hours=12), NOON + timedelta(days=31)]),
    agent_id=st.sampled_from(["bot", "crew"]),
    consumer_id=st.sampled_from(["acme", "globex"]),
    domain=st.sampled_from(["general", "physics"]),
    success=st.booleans(),
    cost=st.builds(cost, terms, results()),
)
groups = st.lists(st.sampled_from(sorted(GROUPS)), min_size=1, max_size=2, unique=True).map(tuple)


def broken_down(by: tuple[str, ...], rows: list[Settlement]) -> SettlementBreakdown:
    fold = BreakdownFold(by)
    for each in rows:
        fold.add(each)
    return fold.result(NOON)


@given(groups, st.lists(settlements, max_size=12), st.randoms())
def test_rows_and_totals_are_exact_sums_in_any_order(by: tuple[str, ...], rows: list[Settlement], dice: Any) -> None:
    found = broken_down(by, rows)
    for row in found.rows:
        members = [
            each
            for each in rows
            if each.cost.currency == row.currency and all(GROUPS[name](each) == getattr(row, name) for name in by)
        ]
        assert_sums(row, members)
    for total in found.totals:
        assert_sums(total, [each for each in rows if each.cost.currency == total.currency])
    assert sum(row.count for row in found.rows) == sum(total.count for total in found.totals) == len(rows)
    shuffled = rows[:]
    dice.shuffle(shuffled)
    assert broken_down(by, shuffled) == found


def assert_sums(row: BreakdownRow, members: list[Settlement]) -> None:
    assert row.count == len(members) > 0
    assert row.success_count == sum(each.success for each in members)
    for name, part in (("cpc", "base"), ("cpa_bonus", "bonus"), ("cpa_penalty", "penalty"), ("total", "total")):
        assert Fraction(getattr(row, name)) == sum(Fraction(getattr(each.cost, part)) for each in members)
    assert row.cpc + row.cpa_bonus - row.cpa_penalty == row.total


def test_a_sum_may_exceed_the_largest_amount() -> None:
    rich = cost(Terms(cpc_rate=Decimal(1_000_000_000)), a_result())
    assert broken_down(("agent",), [a_settlement(cost=rich)] * 20).totals[0].total == 20_000_000_000


def test_days_and_months_are_utc() -> None:
    late = datetime(2025, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    rows = broken_down(("day", "month"), [a_settlement(late)]).rows
    assert [(row.day, row.month) for row in rows] == [("2025-02-01", "2025-02")]


def test_currencies_stand_in_rows_of_their_own() -> None:
    euros = cost(Terms(cpc_rate=Decimal(3), currency="EUR"), a_result())
    found = broken_down(("agent",), [a_settlement(), a_settlement(cost=euros)])
    assert [f"{row.agent} {row.currency} {row.total:.2f}" for row in found.rows] == ["bot EUR 3.00", "bot USD 1.00"]
    assert [f"{row.agent} {row.currency} {row.total:.2f}" for row in found.totals] == ["None EUR 3.00", "None USD 1.00"]


def test_nothing_settled_is_an_empty_breakdown() -> None:
    assert broken_down(("day",), []) == SettlementBreakdown(rows=(), totals=(), complete_to=NOON)


@pytest.mark.parametrize(
    ("given_as", "read"),
    [
        (["agent"], ("agent",)),
        (["agent,day"], ("agent", "day")),
        (["month", "domain"], ("month", "domain")),
        (["consumer, day"], ("consumer", "day")),
    ],
)
def test_groups_are_named_by_comma_or_repeated(given_as: list[str], read: tuple[str, ...]) -> None:
    assert parse_groups(given_as) == read


@pytest.mark.parametrize(
    ("given_as", "code"),
    [
        (["colour"], "unknown_group"),
        (["agent,"], "unknown_group"),
        ([""], "unknown_group"),
        (["Agent"], "unknown_group"),
        (["agent,day,domain"], "too_many_groups"),
        (["agent", "day", "domain"], "too_many_groups"),
        (["day,day"], "repeated_group"),
        (["day", "day"], "repeated_group"),
        ([], "no_group"),
    ],
)
def test_groups_that_make_no_breakdown_are_refused(given_as: list[str], code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_groups(given_as)
    assert refused.value.code == code
    assert refused.value.errors[0].path == "query/group_by"
