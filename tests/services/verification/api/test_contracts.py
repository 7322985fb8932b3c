import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest

from aex_models.governance import Party
from tests.libs.runtime.http.sample import until
from tests.parts.verification import VerificationBench
from tests.services.verification.listening import application

PAID, FREE = {"cpc_rate": "0.10"}, {"cpc_rate": "0.10", "base_policy": "on_success"}


@asynccontextmanager
async def counter(bench: VerificationBench) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(application(bench))
    async with httpx.AsyncClient(transport=transport, base_url="http://verification") as client:
        yield client


async def post(client: httpx.AsyncClient, text: str, wait_s: int = 0) -> httpx.Response:
    path = f"/v1/contracts/ctr_1/outputs?wait_s={wait_s}"
    return await client.post(path, json={"output": {"text": text}}, headers={"Authorization": "Bearer agent:bot"})


async def grade(bench: VerificationBench, client: httpx.AsyncClient, text: str) -> None:
    await post(client, text)
    await bench.deliver("output.submitted")


async def contract(client: httpx.AsyncClient, caller: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {caller}"}
    one = (await client.get("/v1/contracts/ctr_1", headers=headers)).json()
    [listed] = (await client.get("/v1/contracts", headers=headers)).json()["items"]
    assert listed == one
    return dict(one)


@pytest.mark.parametrize(
    ("award", "code", "status", "problems"),
    [
        ({"consumer": Party(id="bot")}, 202, "held", []),
        ({"verification": {"verifier": "strict"}}, 200, "invalid", [("/output/title", "missing")]),
    ],
)
async def test_wait_for_a_held_or_invalid_candidate_ends(
    award: dict[str, Any], code: int, status: str, problems: list[tuple[str, str]]
) -> None:
    bench = VerificationBench()
    await bench.award(**award)
    async with counter(bench) as client:
        await grade(bench, client, "one two three")
        answer = await post(client, "one two three", wait_s=30)
    body = answer.json()
    assert (answer.status_code, body["status"], body["verdict"], body["counted"]) == (code, status, None, False)
    assert [(each["path"], each["code"]) for each in body["errors"]] == problems


async def test_wait_for_the_last_rejection_ends_with_the_contract() -> None:
    bench = VerificationBench()
    bench.governance.down = lambda: True
    await bench.award(verification={"max_attempts": 2})
    async with counter(bench) as client:
        await grade(bench, client, "one two")  # the better one
        await grade(bench, client, "one")
        early = await post(client, "one")
        assert (early.status_code, early.json()["verdict"]) == (200, "rejected"), "who does not wait reads the verdict"
        waiting = asyncio.create_task(post(client, "one", wait_s=30))
        await until(lambda: len(bench.deps.notifier) == 1)
        bench.governance.down = lambda: False
        await bench.pass_time(timedelta(minutes=2))
        assert ((await waiting).status_code, (await contract(client, "agent:bot"))["status"]) == (200, "exhausted")


async def test_replay_is_not_counted() -> None:
    bench = VerificationBench()
    await bench.award()
    async with counter(bench) as client:
        await grade(bench, client, "one")
        answer = (await post(client, "one")).json()
        assert (answer["verdict"], answer["replay"], answer["counted"]) == ("rejected", True, False)
        headers = {"Authorization": "Bearer agent:bot"}
        stored = (await client.get(f"/v1/contracts/ctr_1/attempts/{answer['attempt_id']}", headers=headers)).json()
        assert (stored["counted"], (await contract(client, "agent:bot"))["attempts_used"]) == (True, 1)


@pytest.mark.parametrize(("terms", "is_visible"), [(PAID, True), (FREE, False)])
async def test_consumer_reads_feedback_once_it_pays(terms: dict[str, str], is_visible: bool) -> None:
    bench = VerificationBench()
    await bench.award(terms=terms, verification={"max_attempts": 2})
    async with counter(bench) as client:
        assert (await contract(client, "consumer:acme"))["last_feedback"] is None
        await grade(bench, client, "one")
        assert "not met" in (await contract(client, "agent:bot"))["last_feedback"]
        assert "last_feedback" not in await contract(client, "consumer:acme")
        await grade(bench, client, "two")
        seen = await contract(client, "consumer:acme")
    assert seen["status"] == "exhausted"
    assert ("last_feedback" in seen) is is_visible
