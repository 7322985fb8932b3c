"""Holds over the API: parties, filters, reasons of decisions and metrics."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from aex_models.governance import Hold, HoldCause, HoldStatus
from tests.services.governance.client import OLGA, OMAR, Client, make_flag, open_client


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with open_client(tmp_path / "data") as opened:
        yield opened


async def decide(client: Client, hold: Hold, reason: str, decision: str = "release") -> httpx.Response:
    path, body = f"/v1/holds/{hold.hold_id}/decision", {"decision": decision, "reason": reason}
    return await client.http.post(path, json=body, headers=client.bearer(OLGA))


async def test_hold_has_the_parties_of_a_logged_attempt(client: Client) -> None:
    known = await client.hold(1, make_flag(), request_fields={"agent": {"id": "crew"}, "domain": "news"})
    unknown = await client.hold(2, cause=HoldCause.CUSTOM_METRIC_FAILED)
    holds = [(await client.get(OLGA, f"/v1/holds/{each.hold_id}")).json() for each in (known, unknown)]
    names = ("agent_id", "consumer_id", "work_id", "domain")
    assert [holds[0][name] for name in names] == ["crew", "acme", "work_1", "news"]
    assert [holds[1][name] for name in names] == [None] * 4


async def test_holds_are_listed_by_contract_and_status(client: Client) -> None:
    first = await client.hold("a", make_flag(), contract_id="ctr_1")
    await client.hold("b", make_flag(), contract_id="ctr_2")
    second = await client.hold("c", make_flag(), contract_id="ctr_1")
    await decide(client, first, "once more", "retry")

    async def found(**query: str) -> list[str]:
        return [each["hold_id"] for each in (await client.get(OLGA, "/v1/holds", **query)).json()["items"]]

    assert await found(contract_id="ctr_1") == [second.hold_id, first.hold_id]
    assert await found(contract_id="ctr_1", status="decided") == [first.hold_id]
    assert await found(contract_id="ctr_9") == []
    assert len(await found()) == 3


@pytest.mark.parametrize("reason", [" ", "\n\t ", "\u200b"])
async def test_blank_reason_is_refused_with_its_path(client: Client, reason: str) -> None:
    hold = await client.hold(1, make_flag())
    answer = await decide(client, hold, reason)
    assert answer.status_code == 400
    problem = answer.json()
    assert (problem["code"], problem["errors"][0]["path"]) == ("blank_reason", "/reason")
    assert (await decide(client, hold, f" seen {reason}")).json()["reason"] in {"seen", f"seen {reason}".strip()}


async def test_metric_has_the_longest_wait(client: Client) -> None:
    async def oldest_s() -> float:
        text = (await client.http.get("/metrics")).text
        return float(next(line for line in text.splitlines() if line.startswith("aex_holds_oldest_s")).split()[-1])

    assert await oldest_s() == 0
    first = await client.hold(1, make_flag())
    client.clock.advance(timedelta(minutes=5))  # and a minute with each hold
    second = await client.hold(2, make_flag())
    assert await oldest_s() == 7 * 60
    await client.decide(first.hold_id, OMAR, decision="reject")
    assert await oldest_s() == 60
    assert (await client.get(OLGA, f"/v1/holds/{second.hold_id}")).json()["status"] == "waiting"


async def test_replayed_event_opens_one_hold_and_keeps_its_decision(client: Client) -> None:
    hold = await client.hold(1, make_flag())
    await client.decide(hold.hold_id, OMAR, decision="reject")
    replayed = await client.hold(1, make_flag("velocity", "major"))
    assert (replayed.status, replayed.flags) == (HoldStatus.DECIDED, hold.flags)
    assert len((await client.get(OLGA, "/v1/holds")).json()["items"]) == 1


async def test_second_decision_names_the_first_operator(client: Client) -> None:
    hold = await client.hold(1, make_flag())
    await client.decide(hold.hold_id, OMAR, decision="reject")
    answer = await decide(client, hold, "seen")
    assert (answer.status_code, answer.json()["code"]) == (409, "already_decided")
    assert "by omar (reject)" in answer.json()["detail"]
