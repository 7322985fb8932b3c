"""Both clients against a real application: repeats, keys, pages, errors, tokens."""

import asyncio
import inspect
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_type

import httpx
import pytest

from aex_client import (
    NO_RETRIES,
    AexClient,
    AnswerNotUnderstood,
    AsyncAexClient,
    Conflict,
    ConnectionFailed,
    Endpoints,
    RateLimited,
    RetryPolicy,
    Unavailable,
    calls,
)
from aex_client.call import Call
from aex_client.call_attempts import FIVE_ATTEMPTS
from aex_client.views import Page
from aex_models.work import Work, WorkAnswer, WorkStatus
from tests.libs.client.platform import Both, Fault, Platform, served

SUBMISSION = {"title": "Summarise", "budget": {"max_cpc": Decimal("0.10")}}


@dataclass
class Caller:
    platform: Platform
    endpoints: Endpoints
    both: Both

    async def send(self, call: Call[Any], retries: RetryPolicy = FIVE_ATTEMPTS) -> Any:
        self.both.retries = retries
        return await self.both.call(self.endpoints, "send", call)

    @property
    def pauses(self) -> list[float]:
        return self.both.pauses


@pytest.fixture
def platform() -> Platform:
    return Platform()


@pytest.fixture
def caller(both: Both, platform: Platform) -> Iterator[Caller]:
    with served(platform) as url:
        yield Caller(platform, Endpoints(*[url] * 4), both)


async def test_call_has_its_token_and_a_model_as_answer(caller: Caller) -> None:
    work = await caller.send(calls.publish_work(SUBMISSION))
    assert isinstance(work, WorkAnswer)
    assert (work.work_id, work.status, work.budget.max_cpc) == ("work_0", WorkStatus.OPEN, Decimal("0.10"))
    ((_, _, headers),) = caller.platform.seen
    assert headers["authorization"] == "Bearer t"
    assert headers["content-type"] == "application/json"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_temporary_failure_is_retried_under_the_same_key(caller: Caller, status: int) -> None:
    caller.platform.faults = [Fault(status), Fault(status)]
    await caller.send(calls.publish_work(SUBMISSION))
    assert len(caller.platform.keys) == 3
    assert len(set(caller.platform.keys)) == 1
    assert caller.platform.keys[0]
    assert caller.pauses == pytest.approx([0.15, 0.3])


async def test_write_with_a_lost_answer_takes_effect_once(caller: Caller) -> None:
    caller.platform.faults = [Fault(503, after_effect=True), Fault(503, after_effect=True)]
    assert (await caller.send(calls.publish_work(SUBMISSION))).work_id == "work_0"
    assert len(caller.platform.works) == 1


async def test_write_has_a_fresh_key_or_the_callers_and_a_read_has_none(caller: Caller) -> None:
    own = calls.publish_work(SUBMISSION).with_key("order-4711")
    for call in (calls.publish_work(SUBMISSION), calls.publish_work(SUBMISSION), calls.list_work()):
        await caller.send(call)
    assert await caller.send(own) == await caller.send(own)
    first, second, read, *given = caller.platform.keys
    assert len({first, second, None}) == 3
    assert (read, given) == (None, ["order-4711"] * 2)


async def test_write_in_progress_is_retried_and_other_conflicts_are_not(caller: Caller) -> None:
    caller.platform.faults = [Fault(409, "idempotency_in_flight", {"Retry-After": "1"})]
    await caller.send(calls.publish_work(SUBMISSION))
    assert caller.pauses == pytest.approx([1.1])
    caller.platform.faults = [Fault(409, "attempt_under_verification", {"Retry-After": "5"})]
    with pytest.raises(Conflict) as caught:
        await caller.send(calls.publish_work(SUBMISSION))
    assert caught.value.retry_after_s == 5
    assert len(caller.pauses) == 1


async def test_retry_after_is_respected_up_to_a_limit(caller: Caller) -> None:
    caller.both.jitter = 0.0
    caller.platform.faults = [Fault(429, headers={"Retry-After": "7"}), Fault(429, headers={"Retry-After": "3600"})]
    with pytest.raises(RateLimited) as caught:
        await caller.send(calls.publish_work(SUBMISSION))
    assert caught.value.retry_after_s == 3600
    assert caller.pauses == [7.0]


async def test_retries_are_bounded(caller: Caller) -> None:
    caller.platform.faults = [Fault(503)] * 10
    with pytest.raises(Unavailable):
        await caller.send(calls.publish_work(SUBMISSION), RetryPolicy(attempts=3))
    assert len(caller.platform.seen) == 3
    with pytest.raises(Unavailable):
        await caller.send(calls.list_work(), NO_RETRIES)
    assert len(caller.platform.seen) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 500, 302])
async def test_refusal_is_not_retried(caller: Caller, status: int) -> None:
    caller.platform.faults = [Fault(status)]
    with pytest.raises(Exception, match="test_fault: as told") as caught:
        await caller.send(calls.list_work())
    assert getattr(caught.value, "status", None) == status
    assert getattr(caught.value, "request_id", None) == "req_1"
    assert len(caller.platform.seen) == 1


async def test_unknown_answer_is_reported_without_its_content(caller: Caller) -> None:
    with pytest.raises(AnswerNotUnderstood, match="GET /v1/contracts/ctr_1") as caught:
        await caller.send(calls.get_contract("ctr_1"))
    assert "html" not in str(caught.value)


async def test_token_function_is_called_for_each_request(caller: Caller) -> None:
    tokens = iter("abc")
    caller.both.token = lambda: next(tokens)
    caller.platform.faults = [Fault(503), Fault(503)]
    await caller.send(calls.list_work())
    assert [headers["authorization"] for _, _, headers in caller.platform.seen] == ["Bearer a", "Bearer b", "Bearer c"]


async def test_awaited_token_is_used_and_a_given_http_client_stays_open(platform: Platform) -> None:
    async def token() -> str:
        await asyncio.sleep(0)
        return "fresh"

    http = httpx.AsyncClient(transport=httpx.ASGITransport(platform.app()))
    async with AsyncAexClient(Endpoints(*["http://platform"] * 4), token, http=http) as client:
        assert_type(await client.list_work(), Page[Work])
    assert platform.seen[0][2]["authorization"] == "Bearer fresh"
    assert not http.is_closed
    await http.aclose()
    with httpx.Client() as blocking:
        AexClient(Endpoints.local(), "t", http=blocking).close()
        assert not blocking.is_closed


async def test_each_returns_the_items_of_all_pages(caller: Caller) -> None:
    for _ in range(7):
        await caller.send(calls.publish_work(SUBMISSION))
    found = await caller.both.call(caller.endpoints, "each", calls.list_work(limit=3))
    assert [work.work_id for work in found] == [f"work_{number}" for number in range(7)]


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_refused_connection_is_retried_and_an_impossible_url_is_not() -> None:
    pauses: list[float] = []
    endpoints = Endpoints.local(closed_port() - 1)  # verification, the second, has no listener
    with AexClient(endpoints, "t", retries=RetryPolicy(attempts=3), sleep=pauses.append) as client:
        with pytest.raises(ConnectionFailed, match="GET /v1/contracts/ctr_1"):
            client.get_contract("ctr_1")
        assert len(pauses) == 2
    with AexClient(Endpoints(*["nowhere"] * 4), "t", sleep=pauses.append) as client, pytest.raises(ConnectionFailed):
        client.list_work()
    assert len(pauses) == 2


async def test_aborted_connection_is_retried() -> None:
    requests = 0

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        requests += 1
        await reader.read(100)
        writer.close()

    server = await asyncio.start_server(cut, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def no_pause(_: float) -> None:
        await asyncio.sleep(0)

    async with AsyncAexClient(Endpoints(*[f"http://127.0.0.1:{port}"] * 4), "t", sleep=no_pause) as client:
        with pytest.raises(ConnectionFailed):
            await client.claim("work_1")
    server.close()
    await server.wait_closed()
    assert requests == 5


def test_both_clients_have_every_call_as_a_method() -> None:
    known = {
        name for name, item in vars(calls).items() if inspect.isfunction(item) and item.__module__ == calls.__name__
    }
    for client in (AexClient, AsyncAexClient):
        methods = {name for name, item in vars(client).items() if name in known and item.__doc__}
        assert methods == known
        assert {"send", "each", "close"} <= set(vars(client))


def test_method_has_the_name_parameters_and_docstring_of_its_call() -> None:
    with AexClient(Endpoints.local(), "t") as client:
        method = client.award
        assert method.__name__ == "award"
        assert method.__doc__ == calls.award.__doc__
        assert list(inspect.signature(method).parameters) == ["work_id", "agent_id", "cpc_rate"]
    assert AexClient.award.__doc__ == AsyncAexClient.award.__doc__ == calls.award.__doc__
