from urllib.parse import parse_qs

import pytest

from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import FINANCE


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("/v1/settlements?consumer=acme", "unknown_parameter"),
        ("/v1/settlements?currency=EUR", "unknown_parameter"),
        ("/v1/settlements/breakdown?group_by=day&consumer=acme", "unknown_parameter"),
        ("/v1/settlements/export?consumer=acme", "unknown_parameter"),
        ("/v1/settlements/ctr_1?as_of=2025-03-01T12:00:00Z", "unknown_parameter"),
        ("/v1/trial-balance?asof=2025-03-01T12:00:00Z", "unknown_parameter"),
        ("/v1/trial-balance?as_of=2025-03-01T12:00:00Z&as_of=2025-03-02T12:00:00Z", "repeated_parameter"),
        ("/v1/accounts/consumer:acme?from=2025-03-01", "unknown_parameter"),
        ("/v1/accounts/consumer:acme/entries?limit=1&limit=2", "repeated_parameter"),
        ("/v1/settlements?status=settled&status=reversed", "repeated_parameter"),
    ],
)
async def test_a_parameter_that_is_not_there_or_comes_twice_is_refused(
    counter: Counter, address: str, code: str
) -> None:
    await counter.settle("ctr_1")
    path, _, query = address.partition("?")
    answer = await counter.ask(FINANCE, path, **parse_qs(query))
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text


async def test_a_repeated_group_is_still_a_pair_of_groups(counter: Counter) -> None:
    await counter.settle("ctr_1")
    await counter.seal()
    found = await counter.read(FINANCE, "/v1/settlements/breakdown", group_by=["agent", "day"])
    assert [(row["agent"], row["day"]) for row in found["rows"]] == [("bot", "2025-03-01")]


async def test_pages_ignore_what_they_do_not_know(counter: Counter) -> None:
    assert (await counter.ask(FINANCE, "/dashboard", utm="x")).status_code == 200
