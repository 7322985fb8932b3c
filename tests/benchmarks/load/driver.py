"""Drives one contract from its publication to its settlement, as careful parties do."""

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

import httpx

from tests.benchmarks.load.driven import Driven
from tests.benchmarks.load.plan import Pair
from tests.e2e.jobs import GOOD, POOR, candidate, work_body

REVISED = 4
"""One contract in so many has its first candidate rejected."""
ANSWER_S = 40.0
WAIT_S = 30
"""For a verdict, in one request; the most that there is."""
_TRIES = 6
_AGAIN_S = 0.2
_LOOK_S = 0.1
"""How often a party looks for its settlement. The figures rest on the moment that the settlement bears: who looked
more often would take from the suite what is to be measured."""
_SETTLED_S = 90.0
_BUSY = frozenset({409, 429, 503})


class GaveUp(Exception):
    """An answer that no party of the load can do anything with; the message names request and answer."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The parties of one process."""

    http: httpx.AsyncClient
    urls: Mapping[str, tuple[str, ...]]

    async def drive(self, number: int, pair: Pair, begun: float) -> Driven:
        """One contract, whatever becomes of it. Raises nothing but cancellation."""
        course = Driven(number, begun)
        try:
            await self._drive(course, pair)
        except GaveUp as error:
            course.error = str(error)
        return course

    async def _drive(self, course: Driven, pair: Pair) -> None:
        work = await self._post(course, "work-publisher", "/v1/work", pair.consumer, work_body())
        course.work_s = time.time() - course.begun
        award = {"agent_id": pair.agent_id, "cpc_rate": "0.40"}
        path = f"/v1/work/{work['work_id']}/award"
        course.contract_id = (await self._post(course, "work-publisher", path, pair.consumer, award))["contract_id"]
        if course.number % REVISED == 0:
            await self._deliver(course, pair, f"{POOR} {course.number}", "rejected")
        await self._deliver(course, pair, f"{GOOD} {course.number}", "passed")
        await self._until_settled(course, pair)

    async def _deliver(self, course: Driven, pair: Pair, text: str, wanted: str) -> None:
        path = f"/v1/contracts/{course.contract_id}/outputs?wait_s={WAIT_S}"
        course.posted = time.time()
        attempt = await self._post(course, "verification", path, pair.agent, candidate(text))
        course.verdicts_s.append(time.time() - course.posted)
        if attempt["verdict"] != wanted:
            raise GaveUp(f"{attempt['status']}, {attempt['verdict']} after {WAIT_S} s, where {wanted} was to come")

    async def _until_settled(self, course: Driven, pair: Pair) -> None:
        deadline = time.monotonic() + _SETTLED_S
        path = f"/v1/settlements/{course.contract_id}"
        while time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_S)
            try:
                answer = await self._send("GET", "settlement", path, pair.consumer)
            except httpx.TransportError as error:
                course.asked_again.append(f"GET /v1/settlements/…: {type(error).__name__}")
                continue
            if answer.is_success:
                course.settled = datetime.fromisoformat(answer.json()["settled_at"]).timestamp()
                return
            if answer.status_code != httpx.codes.NOT_FOUND:
                course.asked_again.append(f"GET /v1/settlements/…: {answer.status_code}")
        raise GaveUp(f"not settled within {_SETTLED_S:g} s")

    async def _post(self, course: Driven, service: str, path: str, token: str, body: Any) -> Any:
        """The body of the answer; a request that finds nobody, or somebody too busy, is repeated under its key."""
        key, what = uuid4().hex, f"POST {_shape(path)}"
        for tried in range(_TRIES):
            try:
                answer = await self._send("POST", service, path, token, body, key)
            except httpx.TransportError as error:
                why = type(error).__name__
            else:
                if answer.is_success:
                    return answer.json()
                if answer.status_code not in _BUSY:
                    raise GaveUp(f"{what}: {answer.status_code} {answer.text[:200]}")
                why = f"{answer.status_code} {answer.json().get('code')}"
            course.asked_again.append(f"{what}: {why}")
            await asyncio.sleep(_AGAIN_S * (tried + random.random()))
        raise GaveUp(f"{what}: asked {_TRIES} times")

    async def _send(
        self, method: str, service: str, path: str, token: str, body: Any = None, key: str | None = None
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}", **({"Idempotency-Key": key} if key else {})}
        url = random.choice(self.urls[service]) + path
        return await self.http.request(method, url, json=body, headers=headers)


def _shape(path: str) -> str:
    """The path without what differs from contract to contract."""
    return "/".join("…" if part.startswith(("work_", "ctr_")) else part for part in path.partition("?")[0].split("/"))
