"""Both clients against a real application: repeats, keys, pages, errors, tokens."""

import asyncio
import inspect
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
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
from aex_client.retries import FIVE_ATTEMPTS
from aex_client.views import Page
from aex_models.work import Work, WorkAnswer, WorkStatus
from tests.libs.client.platform import Fault, Platform, served

SUBMISSION = {"title": "Summarise", "budget": {"max_cpc": Decimal("0.10")}}
Send = Callable[[Call[Any]], Awaitable[Any]]


@dataclass
class Caller:
    """One of the two clients on a platform, with what it slept."""

    platform: Platform
    endpoints: Endpoints
    kind: str
    pauses: list[float] = field(default_factory=list)
    token: Any = "secret-token"

    async def send(self, call: Call[Any], retries: RetryPolicy = FIVE_ATTEMPTS, jitter: float = 0.5) -> Any:
        if self.kind == "sync":
            with AexClient(
                self.endpoints, self.token, retries=retries, sleep=self.pauses.append, jitter=lambda: jitter
            ) as client:
                return await asyncio.to_thread(client.send, call)
        transport = httpx.ASGITransport(self.platform.app())
        async with (
            httpx.AsyncClient(transport=transport) as http,
            AsyncAexClient(
                self.endpoints, self.token, retries=retries, sleep=self._sleep, jitter=lambda: jitter, http=http
            ) as async_client,
        ):
            return await async_client.send(call)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


@pytest.fixture
def platform() -> Platform:
    return Platform()


@pytest.fixture(params=["sync", "async"])
def caller(request: pytest.FixtureRequest, platform: Platform) -> Iterator[Caller]:
    if request.param == "async":
        yield Caller(platform, Endpoints(*["http://platform"] * 4), "async")
        return
    with served(platform) as url:
        yield Caller(platform, Endpoints(*[url] * 4), "sync")


async def test_a_call_is_sent_with_its_token_and_answered_with_a_model(caller: Caller) -> None:
    work = await caller.send(calls.publish_work(SUBMISSION))
    assert isinstance(work, WorkAnswer)
    assert (work.work_id, work.status, work.budget.max_cpc) == ("work_0", WorkStatus.OPEN, Decimal("0.10"))
    ((_, _, headers),) = caller.platform.seen
    assert headers["authorization"] == "Bearer secret-token"
    assert headers["content-type"] == "application/json"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_passing_failure_is_repeated_under_the_same_key(caller: Caller, status: int) -> None:
    caller.platform.faults = [Fault(status), Fault(status)]
    await caller.send(calls.publish_work(SUBMISSION))
    assert len(caller.platform.keys) == 3
    assert len(set(caller.platform.keys)) == 1
    assert caller.platform.keys[0]
    assert caller.pauses == pytest.approx([0.15, 0.3])


async def test_a_write_whose_answer_was_lost_happens_once(caller: Caller) -> None:
    caller.platform.faults = [Fault(503, after_effect=True), Fault(503, after_effect=True)]
    assert (await caller.send(calls.publish_work(SUBMISSION))).work_id == "work_0"
    assert len(caller.platform.works) == 1


async def test_each_write_has_a_key_of_its_own_and_a_read_has_none(caller: Caller) -> None:
    for call in (calls.publish_work(SUBMISSION), calls.publish_work(SUBMISSION), calls.list_work()):
        await caller.send(call)
    first, second, read = caller.platform.keys
    assert first != second
    assert first is not None
    assert second is not None
    assert read is None


async def test_a_key_of_the_callers_own_is_used(caller: Caller) -> None:
    call = calls.publish_work(SUBMISSION).with_key("order-4711")
    assert await caller.send(call) == await caller.send(call)
    assert caller.platform.keys == ["order-4711"] * 2


async def test_a_write_that_is_under_way_is_asked_for_again(caller: Caller) -> None:
    caller.platform.faults = [Fault(409, "idempotency_in_flight", {"Retry-After": "1"})]
    await caller.send(calls.publish_work(SUBMISSION))
    assert caller.pauses == pytest.approx([1.1])


async def test_any_other_conflict_is_final_even_where_it_may_pass(caller: Caller) -> None:
    caller.platform.faults = [Fault(409, "attempt_under_verification", {"Retry-After": "5"})]
    with pytest.raises(Conflict) as caught:
        await caller.send(calls.publish_work(SUBMISSION))
    assert caught.value.retry_after_s == 5
    assert caller.pauses == []


async def test_retry_after_is_honoured_up_to_a_bound(caller: Caller) -> None:
    caller.platform.faults = [Fault(429, headers={"Retry-After": "7"}), Fault(429, headers={"Retry-After": "3600"})]
    with pytest.raises(RateLimited) as caught:
        await caller.send(calls.publish_work(SUBMISSION), jitter=0.0)
    assert caught.value.retry_after_s == 3600
    assert caller.pauses == [7.0]


async def test_repeats_end(caller: Caller) -> None:
    caller.platform.faults = [Fault(503)] * 10
    with pytest.raises(Unavailable):
        await caller.send(calls.publish_work(SUBMISSION), RetryPolicy(attempts=3))
    assert len(caller.platform.seen) == 3
    with pytest.raises(Unavailable):
        await caller.send(calls.list_work(), NO_RETRIES)
    assert len(caller.platform.seen) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 500, 302])
async def test_a_refusal_is_final(caller: Caller, status: int) -> None:
    caller.platform.faults = [Fault(status)]
    with pytest.raises(Exception, match="test_fault: as told") as caught:
        await caller.send(calls.list_work())
    assert getattr(caught.value, "status", None) == status
    assert getattr(caught.value, "request_id", None) == "req_1"
    assert len(caller.platform.seen) == 1


async def test_an_answer_of_another_kind_is_told_without_its_content(caller: Caller) -> None:
    with pytest.raises(AnswerNotUnderstood, match="GET /v1/contracts/ctr_1") as caught:
        await caller.send(calls.get_contract("ctr_1"))
    assert "html" not in str(caught.value)


async def test_a_token_function_is_asked_for_each_request(caller: Caller) -> None:
    tokens = iter("abc")
    caller.token = lambda: next(tokens)
    caller.platform.faults = [Fault(503), Fault(503)]
    await caller.send(calls.list_work())
    assert [headers["authorization"] for _, _, headers in caller.platform.seen] == ["Bearer a", "Bearer b", "Bearer c"]


async def test_a_token_function_of_the_async_client_may_await(platform: Platform) -> None:
    async def token() -> str:
        await asyncio.sleep(0)
        return "fresh"

    http = httpx.AsyncClient(transport=httpx.ASGITransport(platform.app()))
    client = AsyncAexClient(Endpoints(*["http://platform"] * 4), token, http=http)
    page = await client.list_work()
    assert_type(page, Page[Work])
    assert platform.seen[0][2]["authorization"] == "Bearer fresh"
    await client.close()
    assert not http.is_closed  # it was given, so it stays its owner's
    await http.aclose()


def test_each_goes_through_all_pages(platform: Platform) -> None:
    with served(platform) as url, AexClient(Endpoints(*[url] * 4), "t") as client:
        published = client.publish_work(SUBMISSION)
        assert_type(published, WorkAnswer)
        for _ in range(6):
            client.publish_work(SUBMISSION)
        found = [work.work_id for work in client.each(calls.list_work(limit=3))]
    assert found == [f"work_{number}" for number in range(7)]


async def test_each_goes_through_all_pages_when_awaited(platform: Platform) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(platform.app())) as http:
        client = AsyncAexClient(Endpoints(*["http://platform"] * 4), "t", http=http)
        for _ in range(7):
            await client.publish_work(SUBMISSION)
        found = [work.work_id async for work in client.each(calls.list_work(limit=3))]
    assert found == [f"work_{number}" for number in range(7)]


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_refused_connection_is_tried_again_and_then_told() -> None:
    endpoints = Endpoints.local(closed_port() - 1)  # verification, the second, is where nobody listens
    pauses: list[float] = []
    client = AexClient(endpoints, "t", retries=RetryPolicy(attempts=3), sleep=pauses.append)
    with client, pytest.raises(ConnectionFailed, match="GET /v1/contracts/ctr_1"):
        client.get_contract("ctr_1")
    assert len(pauses) == 2


async def test_a_connection_that_is_cut_is_tried_again() -> None:
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


def test_a_url_that_is_none_is_not_tried_again() -> None:
    pauses: list[float] = []
    with AexClient(Endpoints(*["nowhere"] * 4), "t", sleep=pauses.append) as client, pytest.raises(ConnectionFailed):
        client.list_work()
    assert pauses == []


def test_an_http_client_that_was_given_stays_its_owners(platform: Platform) -> None:
    with served(platform) as url, httpx.Client() as http:
        with AexClient(Endpoints(*[url] * 4), "t", http=http) as client:
            client.list_work()
        assert not http.is_closed


def test_both_clients_have_every_call_as_a_method() -> None:
    known = {
        name for name, item in vars(calls).items() if inspect.isfunction(item) and item.__module__ == calls.__name__
    }
    for client in (AexClient, AsyncAexClient):
        methods = {name for name, item in vars(client).items() if name in known and item.__doc__}
        assert methods == known
        assert {"send", "each", "close"} <= set(vars(client))


def test_a_method_keeps_the_name_the_parameters_and_the_text_of_its_call() -> None:
    with AexClient(Endpoints.local(), "t") as client:
        method = client.award
        assert method.__name__ == "award"
        assert method.__doc__ == calls.award.__doc__
        assert list(inspect.signature(method).parameters) == ["work_id", "agent_id", "cpc_rate"]
    assert AexClient.award.__doc__ == AsyncAexClient.award.__doc__ == calls.award.__doc__
