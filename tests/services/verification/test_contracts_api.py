"""What a contract's parties are answered, over the routes."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from aex_models.audiences import Audience
from aex_models.governance import Party
from aex_runtime.http.body_room import BodyRoom
from aex_runtime.http.idempotency import InFlight
from aex_runtime.http.problems import add_problem_handlers
from aex_runtime.http.rate_limit import RateBounds, RateLimits
from aex_runtime.identity.principal import Principal
from aex_verification.api import routes
from tests.parts.verification import VerificationBench

PAID, FREE = {"cpc_rate": "0.10"}, {"cpc_rate": "0.10", "base_policy": "on_success"}


class TokensThatNameTheirBearer:
    """A token is `role:id`."""

    async def verify(self, token: str) -> Principal:
        role, _, name = token.partition(":")
        return Principal(name, Audience(role))


@asynccontextmanager
async def counter(bench: VerificationBench) -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    app.include_router(routes(bench.deps))
    add_problem_handlers(app)
    app.state.verifier = TokensThatNameTheirBearer()
    app.state.cursor_key, app.state.in_flight = b"key", InFlight()
    app.state.rate_limits, app.state.body_room = RateLimits(RateBounds(), time.monotonic), BodyRoom()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://verification") as client:
        yield client


async def post(client: httpx.AsyncClient, text: str, wait_s: int = 0) -> httpx.Response:
    path = f"/v1/contracts/ctr_1/outputs?wait_s={wait_s}"
    return await client.post(path, json={"output": {"text": text}}, headers={"Authorization": "Bearer agent:bot"})


async def judge(bench: VerificationBench, client: httpx.AsyncClient, text: str) -> None:
    await post(client, text)
    await bench.deliver("output.submitted")


async def contract(client: httpx.AsyncClient, caller: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {caller}"}
    one = (await client.get("/v1/contracts/ctr_1", headers=headers)).json()
    [listed] = (await client.get("/v1/contracts", headers=headers)).json()["items"]
    assert listed == one
    return dict(one)


async def test_a_wait_ends_when_the_candidate_is_held_and_the_answer_is_202() -> None:
    bench = VerificationBench()
    await bench.award(consumer=Party(id="bot"))
    async with counter(bench) as client:
        await judge(bench, client, "one two three")
        answer = await post(client, "one two three", wait_s=30)
        assert (answer.status_code, answer.json()["status"], answer.json()["verdict"]) == (202, "held", None)


async def test_a_wait_for_the_rejection_that_ends_a_contract_ends_with_the_contract() -> None:
    bench = VerificationBench()
    bench.governance.down = lambda: True
    await bench.award(verification={"max_attempts": 2})
    async with counter(bench) as client:
        await judge(bench, client, "one two")  # the better one
        await judge(bench, client, "one")
        early = await post(client, "one")
        assert (early.status_code, early.json()["verdict"]) == (200, "rejected"), (
            "who does not wait is told the verdict"
        )
        waiting = asyncio.create_task(post(client, "one", wait_s=30))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        bench.governance.down = lambda: False
        await bench.pass_time(timedelta(minutes=2))
        assert ((await waiting).status_code, (await contract(client, "agent:bot"))["status"]) == (200, "exhausted")


async def test_a_replay_was_not_counted_itself() -> None:
    bench = VerificationBench()
    await bench.award()
    async with counter(bench) as client:
        await judge(bench, client, "one")
        answer = (await post(client, "one")).json()
        assert (answer["verdict"], answer["replay"], answer["counted"]) == ("rejected", True, False)
        headers = {"Authorization": "Bearer agent:bot"}
        stored = (await client.get(f"/v1/contracts/ctr_1/attempts/{answer['attempt_id']}", headers=headers)).json()
        assert (stored["counted"], (await contract(client, "agent:bot"))["attempts_used"]) == (True, 1)


async def test_a_wait_ends_when_the_output_is_found_invalid_and_the_answer_says_why() -> None:
    bench = VerificationBench()
    await bench.award(verification={"verifier": "strict"})
    async with counter(bench) as client:
        await judge(bench, client, "one two three")
        answer = await post(client, "one two three", wait_s=30)
    told = answer.json()
    assert (answer.status_code, told["status"], told["verdict"], told["counted"]) == (200, "invalid", None, False)
    assert [(each["path"], each["code"]) for each in told["errors"]] == [("/output/title", "missing")]


@pytest.mark.parametrize(("terms", "told"), [(PAID, True), (FREE, False)])
async def test_a_consumer_reads_the_feedback_once_it_pays_for_the_delivery(terms: dict[str, str], told: bool) -> None:
    bench = VerificationBench()
    await bench.award(terms=terms, verification={"max_attempts": 2})
    async with counter(bench) as client:
        assert (await contract(client, "consumer:acme"))["last_feedback"] is None
        await judge(bench, client, "one")
        assert "not met" in (await contract(client, "agent:bot"))["last_feedback"]
        assert "last_feedback" not in await contract(client, "consumer:acme")
        await judge(bench, client, "two")
        seen = await contract(client, "consumer:acme")
    assert seen["status"] == "exhausted"
    assert ("last_feedback" in seen) is told
