"""Queries of each route that are refused, and with which code."""

from urllib.parse import parse_qs

import pytest

from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import FINANCE

LIST, BREAKDOWN, EXPORT = "/v1/settlements", "/v1/settlements/breakdown", "/v1/settlements/export"
TRIAL_BALANCE, ACCOUNT = "/v1/trial-balance", "/v1/accounts/consumer:acme"


@pytest.mark.parametrize(
    ("status", "code", "address"),
    [
        *((422, "unknown_parameter", address) for address in (
            f"{LIST}?consumer=acme", f"{LIST}?currency=EUR", f"{LIST}/ctr_1?as_of=2025-03-01T12:00:00Z",
            f"{BREAKDOWN}?group_by=day&consumer=acme", f"{EXPORT}?consumer=acme",
            f"{TRIAL_BALANCE}?asof=2025-03-01T12:00:00Z", f"{ACCOUNT}?from=2025-03-01",
        )),
        *((422, "repeated_parameter", address) for address in (
            f"{LIST}?status=settled&status=reversed", f"{ACCOUNT}/entries?limit=1&limit=2",
            f"{TRIAL_BALANCE}?as_of=2025-03-01T12:00:00Z&as_of=2025-03-02T12:00:00Z",
        )),
        *((422, "invalid_shape", address) for address in (
            f"{LIST}?status=open", f"{LIST}?limit=0", f"{LIST}?limit=201", f"{LIST}?domain={'x' * 129}",
            f"{LIST}?agent_id=%00", f"{LIST}?consumer_id=", BREAKDOWN, f"{BREAKDOWN}?group_by=day&currency=usd",
            f"{EXPORT}?format=xlsx", f"{EXPORT}?currency=usd", f"{EXPORT}?status=open", f"{EXPORT}?agent_id==x",
        )),
        *((400, "invalid_day", address) for address in (
            f"{LIST}?from=yesterday", f"{LIST}?to=2025-02-30", f"{BREAKDOWN}?group_by=day&from=2025-3-1",
            f"{EXPORT}?format=jsonl&from=2025-02-30",
        )),
        *((400, "invalid_period", f"{address}from=2025-03-02&to=2025-03-01") for address in (
            f"{LIST}?", f"{BREAKDOWN}?group_by=day&", f"{EXPORT}?",
        )),
        *((400, "invalid_instant", f"{address}?as_of={instant}") for address, instant in (
            (TRIAL_BALANCE, "2025-03-01"), (TRIAL_BALANCE, "2025-03-01T12:00:00"), (ACCOUNT, "now"),
            (f"{ACCOUNT}/entries", ""),
        )),
        (400, "invalid_cursor", f"{LIST}?cursor=%25%25%25"),
        (400, "unknown_group", f"{BREAKDOWN}?group_by=colour"),
    ],
)  # fmt: skip
async def test_refused_query_is_a_problem_with_its_code(counter: Counter, status: int, code: str, address: str) -> None:
    await counter.settle("ctr_1")
    path, _, query = address.partition("?")
    answer = await counter.ask(FINANCE, path, **parse_qs(query, keep_blank_values=True))
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert "content-disposition" not in answer.headers
    if status == 400 and code != "invalid_cursor":
        assert answer.json()["errors"][0]["path"].startswith("query/")


async def test_repeated_group_is_a_pair_of_groups(counter: Counter) -> None:
    await counter.settle("ctr_1")
    await counter.seal()
    found = await counter.read(FINANCE, BREAKDOWN, group_by=["agent", "day"])
    assert [(row["agent"], row["day"]) for row in found["rows"]] == [("bot", "2025-03-01")]


@pytest.mark.parametrize("path", ["/dashboard", "/dashboard/", "/dashboard/accounts", "/dashboard/settlements"])
async def test_pages_refuse_unknown_parameters_with_a_page(counter: Counter, path: str) -> None:
    answer = await counter.ask(FINANCE, path, agnet="x")
    assert (answer.status_code, answer.headers["content-type"]) == (422, "text/html; charset=utf-8")
    assert "there is no query parameter agnet" in answer.text


async def test_unknown_page_is_not_found_whatever_the_query(counter: Counter) -> None:
    assert (await counter.ask(FINANCE, "/dashboard/nowhere", agnet="x")).status_code == 404
