from decimal import Decimal

import pytest

from aex_models.audiences import Audience
from aex_models.settlement import AccountBalance, BreakdownRow, Settlement, SettlementBreakdown, SettlementRevision
from aex_models.work import FeedbackLevel
from aex_runtime.identity.principals import Principal
from aex_settlement.dashboard.accounts import MAX_ACCOUNTS, build_day_rows, group_balances_by_currency
from aex_settlement.dashboard.filters import PageFilter
from aex_settlement.dashboard.overview import TOP, build_overview, choose_overview_groups
from aex_settlement.dashboard.settlement import build_settlement_view
from aex_settlement.rules.projections import DayBalance
from aex_settlement.rules.transactions import build_settlement_transaction
from tests.services.settlement.ledger_kit import ACME, BOT, FINANCE
from tests.services.settlement.outcomes import NOON, a_settlement

MARCH = PageFilter("2025-03-01", "2025-03-31")
YEAR = PageFilter("2025-01-01", "2025-12-31")


def a_row(total: str, currency: str = "USD", count: int = 1, **keys: str) -> BreakdownRow:
    zero = Decimal(0)
    return BreakdownRow(
        currency=currency,
        count=count,
        success_count=count,
        cpc=total,
        cpa_bonus=zero,
        cpa_penalty=zero,
        total=total,
        **keys,
    )


def a_breakdown(*rows: BreakdownRow, totals: tuple[BreakdownRow, ...]) -> SettlementBreakdown:
    return SettlementBreakdown(rows=rows, totals=totals, complete_to=NOON)


def test_a_reader_sees_no_ranking_of_itself() -> None:
    assert choose_overview_groups(FINANCE, MARCH) == ("day", "agent", "consumer", "domain")
    assert choose_overview_groups(ACME, MARCH) == ("day", "agent", "domain")
    assert choose_overview_groups(BOT, YEAR) == ("month", "consumer", "domain")


def test_overview_has_one_currency_and_adds_none() -> None:
    totals = (a_row("5", "EUR", 1), a_row("3", "USD", 2))
    by_day = a_breakdown(a_row("5", "EUR", day="2025-03-01"), a_row("3", "USD", 2, day="2025-03-01"), totals=totals)
    view = build_overview({"day": by_day}, FINANCE, MARCH)
    assert view.currency == "USD"
    assert view.totals is not None
    assert view.totals["total"] == "3.00"
    assert [each["currency"] for each in view.others] == ["EUR"]
    assert [each["currency"] for each in view.steps] == ["USD"]
    assert (
        build_overview({"day": by_day}, FINANCE, PageFilter("2025-03-01", "2025-03-31", currency="EUR")).totals
        == view.others[0]
    )


def test_overview_without_settlements_has_no_totals() -> None:
    empty = build_overview({}, FINANCE, MARCH)
    assert (empty.currency, empty.totals, empty.steps, empty.rankings, empty.complete_to) == (None, None, (), (), None)


def test_a_ranking_holds_the_largest_and_counts_the_rest() -> None:
    rows = [a_row(str(number), agent=f"agent-{number:02}") for number in range(TOP + 3)]
    totals = (a_row("78", count=13),)
    found = {"day": a_breakdown(totals=totals), "agent": a_breakdown(*rows, totals=totals)}
    (ranking,) = build_overview(found, FINANCE, MARCH).rankings
    assert [each.name for each in ranking.rows][:3] == ["agent-12", "agent-11", "agent-10"]
    assert (len(ranking.rows), ranking.unlisted) == (TOP, 3)
    assert [each.share for each in ranking.rows][:2] == [100, 91]


def test_too_many_groups_have_no_ranking() -> None:
    totals = (a_row("3"),)
    by_domain = a_breakdown(a_row("3", domain="general"), totals=totals)
    agents, domains = build_overview(
        {"day": a_breakdown(totals=totals), "agent": None, "domain": by_domain}, FINANCE, MARCH
    ).rankings
    assert (agents.too_many, agents.rows, domains.too_many, len(domains.rows)) == (True, (), False, 1)


def test_what_a_penalty_takes_off_is_below_zero_and_nothing_is_nothing() -> None:
    assert str(build_settlement_view(a_settlement(), (), FINANCE).negative_penalty) == "0.00"


def test_a_bar_of_a_negative_total_has_no_length() -> None:
    totals = (a_row("1"),)
    rows = (a_row("-2", agent="taken-back"), a_row("3", agent="paid"))
    found = {"day": a_breakdown(totals=totals), "agent": a_breakdown(*rows, totals=totals)}
    assert [each.share for each in build_overview(found, FINANCE, MARCH).rankings[0].rows] == [100, 0]
    none = {"day": a_breakdown(totals=totals), "agent": a_breakdown(rows[0], totals=totals)}
    assert [each.share for each in build_overview(none, FINANCE, MARCH).rankings[0].rows] == [0]


def revised(settlement: Settlement) -> Settlement:
    """Once more, by finance: its cost has no lines."""
    first = settlement.revisions[0].model_copy(update={"reversed_at": NOON, "reason": "agreed", "by": "ledger-desk"})
    cost = settlement.cost.model_copy(update={"lines": ()})
    second = SettlementRevision(revision=2, cost=cost, settled_at=NOON)
    return settlement.model_copy(update={"revision": 2, "cost": cost, "revisions": (first, second)})


def with_lines(settlement: Settlement) -> Settlement:
    line = {
        "metric": "f1", "value": 0.5, "threshold": {"min": 0.1, "max": 0.6}, "comparison": "in_range", "met": True,
        "amount": "0.00", "secret": True,
    }  # fmt: skip
    cost = settlement.cost.model_validate(settlement.cost.model_dump() | {"lines": [line]})
    revision = settlement.revisions[0].model_copy(update={"cost": cost})
    return settlement.model_copy(update={"cost": cost, "revisions": (revision,)})


@pytest.mark.parametrize(
    ("reader", "level", "withheld"),
    [
        (FINANCE, FeedbackLevel.NONE, False),
        (ACME, FeedbackLevel.NONE, False),
        (BOT, FeedbackLevel.CRITERIA, True),
        (BOT, FeedbackLevel.FULL, False),
    ],
)
def test_value_is_withheld_by_feedback_level(reader: Principal, level: FeedbackLevel, withheld: bool) -> None:
    (line,) = build_settlement_view(with_lines(a_settlement(disclosure=level)), (), reader).criteria
    assert (line["withheld"], line["value"]) == (withheld, None if withheld else 0.5)
    assert line["condition"] == "in range 0.1 to 0.6"


def test_the_lines_of_a_correction_are_those_that_were_judged() -> None:
    view = build_settlement_view(revised(with_lines(a_settlement())), (), ACME)
    assert ([each["metric"] for each in view.criteria], view.judged_revision) == (["f1"], 1)
    assert "by" not in view.record["revisions"][0]
    assert (
        build_settlement_view(revised(with_lines(a_settlement())), (), FINANCE).record["revisions"][0]["by"]
        == "ledger-desk"
    )


@pytest.mark.parametrize(
    ("reader", "accounts"),
    [
        (FINANCE, {"consumer:acme", "agent:bot"}),
        (ACME, {"consumer:acme"}),
        (BOT, {"agent:bot"}),
        (Principal("acme", Audience.AGENT), set()),
    ],
)
def test_a_party_sees_its_own_side_of_a_transaction(reader: Principal, accounts: set[str]) -> None:
    settlement = a_settlement()
    posted = build_settlement_transaction(settlement, 1, settlement.cost, NOON, "outcome", "service:settlement")
    view = build_settlement_view(settlement, [posted], reader)
    assert {each.posting.account for each in view.transactions[0]["postings"]} == accounts
    assert all((each.debit is None) != (each.credit is None) for each in view.transactions[0]["postings"])


def test_total_is_over_all_accounts_of_a_search() -> None:
    balances = [
        AccountBalance(account="consumer:acme", currency="USD", balance=Decimal(2)),
        AccountBalance(account="agent:bot", currency="USD", balance=Decimal(-1)),
        AccountBalance(account="agent:bot", currency="EUR", balance=Decimal(0)),
    ]
    euros, dollars = group_balances_by_currency(balances, "agent:")
    assert [(each.account) for each in dollars.rows] == ["agent:bot"]
    assert (euros.total, dollars.total) == (Decimal(0), Decimal(1))


def test_more_accounts_than_a_page_takes_are_counted() -> None:
    many = [AccountBalance(account=f"agent:{n}", currency="USD", balance=Decimal(0)) for n in range(MAX_ACCOUNTS + 2)]
    (page,) = group_balances_by_currency(many, "")
    assert (len(page.rows), page.unlisted) == (MAX_ACCOUNTS, 2)


def test_daily_balances_are_kept_apart_by_currency() -> None:
    def a_day(currency: str, day: str, closing: int) -> DayBalance:
        return DayBalance(
            generation="g", account="agent:bot", currency=currency, day=day, debits=0, credits=1, closing=closing
        )

    found = build_day_rows(
        [a_day("USD", "2025-03-01", -1), a_day("EUR", "2025-03-01", -2), a_day("USD", "2025-03-02", -3)]
    )
    assert [each["closing"] for each in found["USD"]] == [Decimal("-0.000001"), Decimal("-0.000003")]
    assert list(found) == ["EUR", "USD"]
