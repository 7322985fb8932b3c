"""Holds by the API: whose they are, found by contract, decided for a reason that can be read."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from aex_models.governance import Hold, HoldCause
from tests.services.governance.review.bureau import OLGA, OMAR, Bureau, a_flag, open_bureau


@pytest.fixture
async def bureau(tmp_path: Path) -> AsyncIterator[Bureau]:
    async with open_bureau(tmp_path / "data") as opened:
        yield opened


async def decide(bureau: Bureau, hold: Hold, reason: str, decision: str = "release") -> httpx.Response:
    path, body = f"/v1/holds/{hold.hold_id}/decision", {"decision": decision, "reason": reason}
    return await bureau.client.post(path, json=body, headers=bureau.bearer(OLGA))


async def test_a_hold_says_whose_outcome_it_is_where_that_is_known(bureau: Bureau) -> None:
    known = await bureau.hold(1, a_flag(), asked_about={"agent": {"id": "crew"}, "domain": "news"})
    unknown = await bureau.hold(2, cause=HoldCause.CUSTOM_METRIC_FAILED)
    shown = [(await bureau.ask(OLGA, f"/v1/holds/{each.hold_id}")).json() for each in (known, unknown)]
    names = ("agent_id", "consumer_id", "work_id", "domain")
    assert [shown[0][name] for name in names] == ["crew", "acme", "work_1", "news"]
    assert [shown[1][name] for name in names] == [None] * 4


async def test_holds_are_found_by_contract_and_status_newest_first(bureau: Bureau) -> None:
    first = await bureau.hold("a", a_flag(), contract_id="ctr_1")
    await bureau.hold("b", a_flag(), contract_id="ctr_2")
    second = await bureau.hold("c", a_flag(), contract_id="ctr_1")
    await decide(bureau, first, "once more", "retry")

    async def found(**query: str) -> list[str]:
        return [each["hold_id"] for each in (await bureau.ask(OLGA, "/v1/holds", **query)).json()["items"]]

    assert await found(contract_id="ctr_1") == [second.hold_id, first.hold_id]
    assert await found(contract_id="ctr_1", status="decided") == [first.hold_id]
    assert await found(contract_id="ctr_9") == []
    assert len(await found()) == 3


@pytest.mark.parametrize("reason", [" ", "\n\t ", "\u200b"])
async def test_a_reason_that_says_nothing_is_refused_with_its_path(bureau: Bureau, reason: str) -> None:
    hold = await bureau.hold(1, a_flag())
    answer = await decide(bureau, hold, reason)
    assert answer.status_code == 400
    problem = answer.json()
    assert (problem["code"], problem["errors"][0]["path"]) == ("blank_reason", "/reason")
    assert (await decide(bureau, hold, f" seen {reason}")).json()["reason"] in {"seen", f"seen {reason}".strip()}


async def test_metrics_tell_how_long_the_first_hold_has_waited(bureau: Bureau) -> None:
    async def oldest_s() -> float:
        text = (await bureau.client.get("/metrics")).text
        return float(next(line for line in text.splitlines() if line.startswith("aex_holds_oldest_s")).split()[-1])

    assert await oldest_s() == 0
    first = await bureau.hold(1, a_flag())
    bureau.clock.advance(timedelta(minutes=5))  # and a minute with each hold
    second = await bureau.hold(2, a_flag())
    assert await oldest_s() == 7 * 60
    await bureau.decide(first.hold_id, OMAR, decision="reject")
    assert await oldest_s() == 60
    assert (await bureau.ask(OLGA, f"/v1/holds/{second.hold_id}")).json()["status"] == "waiting"


async def test_who_is_late_is_told_who_decided(bureau: Bureau) -> None:
    hold = await bureau.hold(1, a_flag())
    await bureau.decide(hold.hold_id, OMAR, decision="reject")
    answer = await decide(bureau, hold, "seen")
    assert (answer.status_code, answer.json()["code"]) == (409, "already_decided")
    assert "by omar (reject)" in answer.json()["detail"]
