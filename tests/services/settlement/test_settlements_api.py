"""Reading settlements: one, and pages of them; finance all, consumer and agent their own."""

from datetime import timedelta
from itertools import combinations
from typing import Any

import pytest

from aex_models.audiences import Audience
from aex_models.work import FeedbackLevel
from aex_runtime.identity.principals import Principal
from aex_settlement.repository.ledger import FILTERS
from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import ACME, BOT, FINANCE, GLOBEX, on_both_stores

CREW = Principal("crew", Audience.AGENT)


def contracts(answer: Any) -> list[str]:
    return [item["contract_id"] for item in answer["items"]]


async def test_a_settlement_has_the_documented_shape(counter: Counter) -> None:
    await counter.settle("ctr_1")
    found = await counter.read(FINANCE, "/v1/settlements/ctr_1")
    cost = found.pop("cost")
    (revision,) = found.pop("revisions")
    assert found == {
        "contract_id": "ctr_1",
        "work_id": "work_1",
        "agent_id": "bot",
        "consumer_id": "acme",
        "domain": "general",
        "success": True,
        "final_status": "passed",
        "verdict": "passed",
        "status": "settled",
        "revision": 1,
        "settled_at": "2025-03-01T12:00:00Z",
    }
    lines = cost.pop("lines")
    assert cost == {
        "contract_id": "ctr_1",
        "currency": "USD",
        "base": "1.00",
        "bonus": "0.50",
        "penalty": "0.00",
        "bonus_capped": "0.00",
        "penalty_waived": "0.00",
        "fee": "0.15",
        "total": "1.50",
        "breakdown": {"cpc": "1.00", "cpa_bonus": "0.50", "cpa_penalty": "0.00"},
    }
    assert lines[0] == {
        "metric": "rougeL", "value": 0.5, "criterion": None, "threshold": 0.4, "comparison": "gte", "met": True,
        "amount": "0.50",
    }  # fmt: skip
    assert revision["cost"]["total"] == "1.50"


@pytest.mark.parametrize(
    ("level", "logged"),
    [(FeedbackLevel.FULL, [True, True]), (FeedbackLevel.CRITERIA, [False, True]), (FeedbackLevel.NONE, [False, False])],
)
async def test_agent_reads_values_of_its_feedback_level(
    counter: Counter, level: FeedbackLevel, logged: list[bool]
) -> None:
    await counter.settle("ctr_1", disclosure=level)
    for reader, expected in ((BOT, logged), (ACME, [True, True]), (FINANCE, [True, True])):
        one = await counter.read(reader, "/v1/settlements/ctr_1")
        (listed,) = (await counter.read(reader, "/v1/settlements"))["items"]
        for visible in (one, listed):
            assert ["value" in line for line in visible["cost"]["lines"]] == expected
            assert ["value" in line for line in visible["revisions"][0]["cost"]["lines"]] == expected
            assert not any("secret" in line for line in visible["cost"]["lines"])


@on_both_stores
async def test_settlements_are_listed_newest_first_page_by_page(counter: Counter) -> None:
    await counter.settle_a_few()
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(4):
        answer = await counter.read(FINANCE, "/v1/settlements", limit=3, **cursor)
        seen += contracts(answer)
        cursor = {"cursor": answer["next_cursor"]}
        if answer["next_cursor"] is None:
            break
    assert seen == [f"ctr_{number}" for number in reversed(range(8))]


@on_both_stores
async def test_every_combination_of_filters_is_served_and_exact(counter: Counter) -> None:
    await counter.settle_a_few()
    everything = (await counter.read(FINANCE, "/v1/settlements"))["items"]
    values = {"agent_id": "bot", "consumer_id": "globex", "domain": "physics", "status": "settled"}
    for size in range(len(FILTERS) + 1):
        for names in combinations(FILTERS, size):
            expected_values = {name: values[name] for name in names}
            found = await counter.read(FINANCE, "/v1/settlements", **expected_values, **{"from": "2025-03-01"})
            assert found["items"] == [
                item for item in everything if all(item[name] == value for name, value in expected_values.items())
            ]
    assert (await counter.read(FINANCE, "/v1/settlements", status="reversed"))["items"] == []


async def test_lists_hold_the_readers_own_rows_alone(counter: Counter) -> None:
    await counter.settle_a_few()
    for reader, name in ((ACME, "consumer_id"), (CREW, "agent_id")):
        items = (await counter.read(reader, "/v1/settlements"))["items"]
        assert len(items) == 4
        assert {item[name] for item in items} == {reader.id}
        assert (await counter.read(reader, "/v1/settlements", **{name: reader.id}))["items"] == items
        assert (await counter.read(reader, "/v1/settlements", **{name: "bot"}))["items"] == []
    assert contracts(await counter.read(ACME, "/v1/settlements", agent_id="crew", domain="physics")) == ["ctr_3"]


@on_both_stores
async def test_a_list_keeps_to_its_utc_days_both_included(counter: Counter) -> None:
    for name, later in (
        ("noon", timedelta(hours=12, microseconds=-1)),
        ("last", timedelta(microseconds=1)),
        ("next", timedelta()),
    ):
        await counter.settle(name)
        counter.ledger.clock.advance(later)

    async def listed(**days: str) -> list[str]:
        return contracts(await counter.read(FINANCE, "/v1/settlements", **days))

    assert await listed(**{"from": "2025-03-01", "to": "2025-03-01"}) == ["last", "noon"]
    assert await listed(**{"from": "2025-03-02"}) == ["next"]
    assert await listed(to="2025-02-28") == []


async def test_a_cursor_serves_its_own_query_and_reader_alone(counter: Counter) -> None:
    await counter.settle_a_few()
    cursor = (await counter.read(ACME, "/v1/settlements", limit=1))["next_cursor"]
    assert (await counter.ask(ACME, "/v1/settlements", limit=2, cursor=cursor)).status_code == 200
    for reader, params in ((GLOBEX, {}), (FINANCE, {}), (ACME, {"domain": "physics"})):
        answer = await counter.ask(reader, "/v1/settlements", cursor=cursor, **params)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")
