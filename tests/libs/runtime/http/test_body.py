import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from aex_runtime.errors import RateLimited, TemporarilyUnavailable
from aex_runtime.http.body import HUGE_BYTES, MAX_BODY_BYTES, SMALL_BYTES, MemoryBudget
from tests.libs.runtime.http.sample import Sample, sample, until

JSON = {"Content-Type": "application/json"}


async def post(shared: Sample, content: bytes | AsyncIterator[bytes], **headers: str) -> httpx.Response:
    async with shared.client() as client:
        return await client.post("/v1/echo", content=content, headers={**JSON, **headers})


def problem(answer: httpx.Response, status: int) -> dict[str, object]:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, object] = answer.json()
    assert document["status"] == status
    return document


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"{", "malformed_json"), (b"[NaN]", "invalid_json"), (b"[" * 1_000, "json_too_deep"), (b"\xff", "invalid_utf8")],
)
async def test_body_outside_strict_json_is_a_bad_request(shared: Sample, content: bytes, code: str) -> None:
    assert problem(await post(shared, content), 400)["code"] == code


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "", "application/json; charset=latin-1", "json"])
async def test_body_of_another_type_is_a_bad_request(shared: Sample, kind: str) -> None:
    assert problem(await post(shared, b"{}", **{"Content-Type": kind}), 400)["code"] == "unsupported_media_type"


@pytest.mark.parametrize("kind", ["application/json; charset=UTF-8", "application/vnd.aex+json", "APPLICATION/JSON"])
async def test_json_media_types_are_accepted(shared: Sample, kind: str) -> None:
    assert (await post(shared, b"{}", **{"Content-Type": kind})).status_code == 200


async def test_missing_body_is_unprocessable_and_a_float_keeps_its_text(shared: Sample) -> None:
    assert (await post(shared, b"0.10")).json() == {"type": "JsonFloat", "text": "0.10"}
    document = problem(await post(shared, b""), 422)
    assert document["errors"] == [{"path": "", "code": "missing", "message": "Field required"}]


@pytest.mark.parametrize(("length", "chunks_read"), [(MAX_BODY_BYTES + 1, 0), (None, 11), (5, 11)])
async def test_body_above_10_mb_is_refused_early(shared: Sample, length: int | None, chunks_read: int) -> None:
    read = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(50):
            read += 1
            yield b" " * 1_000_000

    headers = {} if length is None else {"Content-Length": str(length)}
    assert problem(await post(shared, chunks(), **headers), 413)["code"] == "body_too_large"
    assert read == chunks_read


async def test_large_body_is_parsed_beside_other_requests(shared: Sample) -> None:
    content = json.dumps([{"name": f"n{position}", "score": 0.5} for position in range(40_000)]).encode()
    assert len(content) > SMALL_BYTES
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.001)
            beats += 1

    heart = asyncio.create_task(beat())
    assert (await post(shared, content)).status_code == 200
    heart.cancel()
    assert beats > 3  # parsed on the loop, it would be one long pause


@pytest.mark.parametrize("size", [SMALL_BYTES, SMALL_BYTES + 1, MAX_BODY_BYTES])
async def test_bodies_up_to_10_mb_are_parsed_equally(shared: Sample, size: int) -> None:
    assert (await post(shared, b'"' + b"x" * (size - 2) + b'"')).json()["type"] == "str"
    assert problem(await post(shared, b'"' + b"x" * (size - 1)), 400)["code"] == "malformed_json"


LARGE = 10 * SMALL_BYTES


def test_reservation_ends_with_the_request() -> None:
    budget = MemoryBudget(2 * LARGE, 3 * LARGE)
    with budget.reserve("a") as first, budget.reserve("a") as second:
        first.resize_to_body(LARGE)
        second.resize_to_body(LARGE // 2)
        second.resize_to_body(LARGE)
        assert budget.reserved == 2 * LARGE
        with budget.reserve("a") as third, pytest.raises(RateLimited, match="too_many_bytes"):
            third.resize_to_body(LARGE)
        with budget.reserve("b") as another:
            another.resize_to_body(LARGE)
            with budget.reserve("c") as last, pytest.raises(TemporarilyUnavailable, match="bodies_busy"):
                last.resize_to_body(LARGE)
    assert budget.reserved == 0
    small = MemoryBudget(1, 1)
    with small.reserve("a") as reservation:
        reservation.resize_to_body(SMALL_BYTES)
        assert small.reserved == 0


async def test_exhausted_memory_budget_is_refused_with_retry_after(tmp_path: Path) -> None:
    made = sample(tmp_path)
    made.app.state.memory_budget = MemoryBudget(LARGE, LARGE)
    go_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b'"' + b"x" * (LARGE - 10)
        await go_on.wait()
        yield b'"'

    async with made.client() as client, made.client(sub="globex") as another:
        first = asyncio.create_task(client.post("/v1/echo", content=slowly(), headers=JSON))
        await until(lambda: made.app.state.memory_budget.reserved > 0)
        own = await client.post("/v1/echo", content=b'"' + b"x" * LARGE + b'"', headers=JSON)
        other = await another.post("/v1/echo", content=b'"' + b"x" * (LARGE // 2) + b'"', headers=JSON)
        small = await another.post("/v1/echo", content=b'"x"', headers=JSON)
        go_on.set()
        assert (await first).status_code == 200
    assert (own.status_code, own.json()["code"], own.headers["retry-after"]) == (429, "too_many_bytes", "1")
    assert (other.status_code, other.json()["code"], other.headers["retry-after"]) == (503, "bodies_busy", "1")
    assert small.status_code == 200
    assert made.app.state.memory_budget.reserved == 0


async def test_huge_bodies_are_parsed_one_at_a_time(tmp_path: Path) -> None:
    made = sample(tmp_path)
    budget: MemoryBudget = made.app.state.memory_budget
    async with made.client() as client, made.client(sub="globex") as another:
        async with budget.huge_body_lock:
            content = b'"' + b"x" * HUGE_BYTES + b'"'
            huge = asyncio.create_task(client.post("/v1/echo", content=content, headers=JSON))
            await until(lambda: budget.reserved >= HUGE_BYTES)
            large = await another.post("/v1/echo", content=b'"' + b"x" * LARGE + b'"', headers=JSON)
            assert large.status_code == 200
            assert not huge.done()
        assert (await huge).status_code == 200
