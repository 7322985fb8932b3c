from datetime import date
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.errors import InvalidRequest
from aex_settlement.dashboard.filters import PageFilter, build_period_presets, count_days, parse_page_filter

TODAY = date(2025, 3, 31)


def test_default_period_is_thirty_days() -> None:
    assert parse_page_filter({}, TODAY) == PageFilter("2025-03-02", "2025-03-31")
    assert count_days(parse_page_filter({}, TODAY)) == 30


def test_one_end_alone_finds_the_other() -> None:
    assert parse_page_filter({"from": "2025-01-05"}, TODAY) == PageFilter("2025-01-05", "2025-03-31")
    assert parse_page_filter({"to": "2025-01-30"}, TODAY) == PageFilter("2025-01-01", "2025-01-30")
    assert parse_page_filter({"from": "2026-01-05"}, TODAY) == PageFilter("2026-01-05", "2026-01-05")
    assert parse_page_filter({"to": "0001-01-02"}, TODAY) == PageFilter("0001-01-01", "0001-01-02")


def test_empty_fields_of_a_form_ask_for_anything() -> None:
    empty = dict.fromkeys(("from", "to", "agent", "consumer", "domain", "currency", "status"), " ")
    assert parse_page_filter(empty, TODAY) == parse_page_filter({}, TODAY)
    assert not parse_page_filter(empty, TODAY).has_filter_besides_days()


def test_every_wrong_field_is_named_with_what_it_takes() -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_page_filter({"agent": "a b", "currency": "usd", "status": "open", "domain": "x" * 129}, TODAY)
    assert [each.path for each in refused.value.errors] == [
        "query/agent",
        "query/domain",
        "query/currency",
        "query/status",
    ]
    assert "such as USD" in refused.value.errors[2].message


@pytest.mark.parametrize(
    "days", [{"from": "yesterday"}, {"to": "2025-02-30"}, {"from": "2025-02-02", "to": "2025-02-01"}]
)
def test_days_that_make_no_period_are_refused(days: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        parse_page_filter(days, TODAY)


def test_the_usual_periods_follow_the_calendar() -> None:
    found = {each.text: (each.first_day, each.last_day) for each in build_period_presets(date(2024, 3, 5))}
    assert found == {
        "Last 30 days": ("2024-02-05", "2024-03-05"),
        "This month": ("2024-03-01", "2024-03-05"),
        "Last month": ("2024-02-01", "2024-02-29"),
        "This year": ("2024-01-01", "2024-03-05"),
    }


_names = st.none() | st.from_regex(r"\A[A-Za-z0-9._:@/+-]{1,20}\Z")


@given(_names, _names, _names, st.none() | st.sampled_from(["USD", "EUR"]))
def test_filter_round_trips_through_the_address(
    agent: str | None, consumer: str | None, domain: str | None, currency: str | None
) -> None:
    requested = PageFilter("2025-03-01", "2025-03-02", agent, consumer, domain, currency)
    assert parse_page_filter(dict(parse_qsl(requested.to_query_string())), TODAY) == requested


def test_a_link_changes_one_thing_and_keeps_the_rest() -> None:
    requested = PageFilter("2025-03-01", "2025-03-02", agent="org/x&y=1", currency="USD")
    assert (
        requested.to_query_string(agent=None, domain="a b") == "from=2025-03-01&to=2025-03-02&domain=a+b&currency=USD"
    )
    assert "agent=org%2Fx%26y%3D1" in requested.to_query_string()
