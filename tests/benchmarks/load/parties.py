"""Parties that drive contracts from publication to settlement, with retries under idempotency keys."""

import asyncio
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import uuid4

import httpx

from tests.e2e.jobs import GOOD, POOR, candidate, work_body
from tests.e2e.parties import Parties

REJECTED_EVERY = 4
"""The first candidate of every fourth contract is rejected."""
_RESPONSE_S = 40.0
_WAIT_S = 30
"""For a verdict in one request: the highest value the API takes."""
_ATTEMPTS = 6
_RETRY_S = 0.2
_POLL_S = 0.1
"""Between reads of a settlement; the figures use its `settled_at`, so that polling can be slow."""
_SETTLED_S = 90.0
_RETRYABLE = frozenset({409, 429, 503})


@dataclass(slots=True)
class ContractRun:
    """The course of one contract; moments are seconds since 1970, None when not reached."""

    number: int
    begun: float
    """In an open loop the planned moment."""
    contract_id: str | None = None
    work_s: float | None = None
    """Duration of `POST /v1/work`."""
    verdicts_s: list[float] = field(default_factory=list)
    """From post to verdict, per candidate."""
    posted: float | None = None
    """Moment of the last candidate's post."""
    settled: float | None = None
    """`settled_at` of the settlement, which is before its commit."""
    retries: list[str] = field(default_factory=list)
    error: str | None = None


class ContractFailed(Exception):
    """An unexpected response; the message names request and response."""


async def drive_contracts(
    urls: Mapping[str, Sequence[str]], pairs: Sequence[Parties], numbers: range, per_s: float | None
) -> list[ContractRun]:
    """Drive contracts in a closed loop per pair, or in an open loop of `per_s` with exponential gaps.

    A request goes to any of the service's `urls`, as behind a load balancer.
    """
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    runs: list[ContractRun] = []
    async with (
        httpx.AsyncClient(timeout=_RESPONSE_S, trust_env=False, limits=limits) as http,
        asyncio.TaskGroup() as tasks,
    ):
        driver = ContractDriver(http, urls)
        if per_s is None:
            left = iter(numbers)

            async def work(pair: Parties) -> None:
                for number in left:
                    runs.append(ContractRun(number, time.time()))
                    await driver.drive(runs[-1], pair)

            for pair in pairs:
                tasks.create_task(work(pair))
        else:
            source, begun = random.Random(numbers.start), time.time()
            for number in numbers:
                begun += source.expovariate(per_s)
                await asyncio.sleep(max(begun - time.time(), 0))
                runs.append(ContractRun(number, begun))
                tasks.create_task(driver.drive(runs[-1], pairs[number % len(pairs)]))
    return runs


class ContractDriver:
    """The requests of one contract after another."""

    def __init__(self, http: httpx.AsyncClient, urls: Mapping[str, Sequence[str]]) -> None:
        self._http, self._urls = http, urls

    async def drive(self, run: ContractRun, pair: Parties) -> None:
        try:
            work = await self._post(run, "work-publisher", "/v1/work", pair.consumer.token, work_body())
            run.work_s = time.time() - run.begun
            path, terms = f"/v1/work/{work['work_id']}/award", {"agent_id": pair.agent.id, "cpc_rate": "0.40"}
            award = await self._post(run, "work-publisher", path, pair.consumer.token, terms)
            run.contract_id = award["contract_id"]
            if run.number % REJECTED_EVERY == 0:
                await self._deliver(run, pair, f"{POOR} {run.number}", "rejected")
            await self._deliver(run, pair, f"{GOOD} {run.number}", "passed")
            await self._await_settlement(run, pair)
        except ContractFailed as error:
            run.error = str(error)

    async def _deliver(self, run: ContractRun, pair: Parties, text: str, verdict: str) -> None:
        path = f"/v1/contracts/{run.contract_id}/outputs?wait_s={_WAIT_S}"
        run.posted = time.time()
        attempt = await self._post(run, "verification", path, pair.agent.token, candidate(text))
        run.verdicts_s.append(time.time() - run.posted)
        if attempt["verdict"] != verdict:
            raise ContractFailed(f"{attempt['status']}, {attempt['verdict']} after {_WAIT_S} s instead of {verdict}")

    async def _await_settlement(self, run: ContractRun, pair: Parties) -> None:
        deadline = time.monotonic() + _SETTLED_S
        while time.monotonic() < deadline:
            await asyncio.sleep(_POLL_S)
            path = f"/v1/settlements/{run.contract_id}"
            response = await self._send(run, "GET", "settlement", path, pair.consumer.token)
            if response is not None and response.is_success:
                run.settled = datetime.fromisoformat(response.json()["settled_at"]).timestamp()
                return
        raise ContractFailed(f"not settled in {_SETTLED_S:g} s")

    async def _post(self, run: ContractRun, service: str, path: str, token: str, body: Any) -> Any:
        """Return the body of the response, after retries under the same key."""
        key = uuid4().hex
        for attempt in range(_ATTEMPTS):
            response = await self._send(run, "POST", service, path, token, body, key)
            if response is not None and response.is_success:
                return response.json()
            if response is not None:
                raise ContractFailed(f"POST {path}: {response.status_code} {response.text[:200]}")
            await asyncio.sleep(_RETRY_S * (attempt + random.random()))
        raise ContractFailed(f"POST {path}: {_ATTEMPTS} attempts failed")

    async def _send(
        self, run: ContractRun, method: str, service: str, path: str, token: str, body: Any = None, key: str = ""
    ) -> httpx.Response | None:
        """Return the response; None, with an entry in `run.retries`, when the request should be repeated."""
        headers = {"Authorization": f"Bearer {token}", **({"Idempotency-Key": key} if key else {})}
        url = random.choice(self._urls[service]) + path
        name = re.sub(r"(work|ctr)_[^/]+", "…", path.partition("?")[0])
        try:
            response = await self._http.request(method, url, json=body, headers=headers)
        except httpx.TransportError as error:
            run.retries.append(f"{method} {name}: {type(error).__name__}")
            return None
        if response.status_code not in _RETRYABLE:
            return response
        run.retries.append(f"{method} {name}: {response.status_code} {response.json().get('code')}")
        return None
