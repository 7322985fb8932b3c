"""Bodies are bounded while they stream in, strict, and parsed where they delay nobody."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from aex_runtime.http.body import MAX_BODY_BYTES, OFF_LOOP_BYTES
from tests.libs.runtime.http.sample import Sample

JSON = {"Content-Type": "application/json"}


async def post(made: Sample, content: bytes | AsyncIterator[bytes], **headers: str) -> httpx.Response:
    async with made.client() as client:
        return await client.post("/v1/echo", content=content, headers={**JSON, **headers})


def problem(answer: httpx.Response, status: int) -> dict[str, object]:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, object] = answer.json()
    assert document["status"] == status
    return document


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "malformed_json"),
        (b'{"a": NaN}', "invalid_json"),
        (b'{"a": 1, "a": 1}', "invalid_json"),
        (b'{"a": 9007199254740992}', "invalid_json"),
        (rb'{"a": "\ud800"}', "invalid_json"),
        (rb'{"a": "\u0000"}', "invalid_json"),
        (b"[" * 1_000 + b"]" * 1_000, "json_too_deep"),
        (b'"\xff"', "invalid_utf8"),
    ],
)
async def test_a_body_that_is_not_strict_json_is_a_bad_request(made: Sample, content: bytes, code: str) -> None:
    assert problem(await post(made, content), 400)["code"] == code


async def test_a_float_reaches_the_handler_with_its_text(made: Sample) -> None:
    assert (await post(made, b"0.10")).json() == {"type": "JsonFloat", "text": "0.10"}


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "", "application/json; charset=latin-1", "json"])
async def test_a_body_of_another_type_is_a_bad_request(made: Sample, kind: str) -> None:
    assert problem(await post(made, b"{}", **{"Content-Type": kind}), 400)["code"] == "unsupported_media_type"


@pytest.mark.parametrize("kind", ["application/json; charset=UTF-8", "application/vnd.aex+json", "APPLICATION/JSON"])
async def test_json_may_be_announced_in_its_several_ways(made: Sample, kind: str) -> None:
    assert (await post(made, b"{}", **{"Content-Type": kind})).status_code == 200


async def test_a_missing_body_is_a_wrong_shape(made: Sample) -> None:
    document = problem(await post(made, b""), 422)
    assert document["errors"] == [{"path": "", "code": "missing", "message": "Field required"}]


async def test_a_body_that_announces_more_than_10_mb_is_refused_unread(made: Sample) -> None:
    read = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(11):
            read += 1
            yield b" " * 1_000_000

    answer = await post(made, chunks(), **{"Content-Length": str(MAX_BODY_BYTES + 1)})
    assert problem(answer, 413)["code"] == "body_too_large"
    assert read == 0


async def test_a_body_without_length_is_cut_off_at_10_mb(made: Sample) -> None:
    read = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(50):
            read += 1
            yield b" " * 1_000_000

    assert problem(await post(made, chunks()), 413)["code"] == "body_too_large"
    assert read == 11


async def test_a_body_that_lies_about_its_length_is_cut_off_all_the_same(made: Sample) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(50):
            yield b" " * 1_000_000

    assert problem(await post(made, chunks(), **{"Content-Length": "5"}), 413)["code"] == "body_too_large"


async def test_a_body_of_exactly_10_mb_is_read(made: Sample) -> None:
    content = b'"' + b"x" * (MAX_BODY_BYTES - 2) + b'"'
    assert (await post(made, content)).json()["type"] == "str"


async def test_a_large_body_is_parsed_while_other_requests_are_answered(made: Sample) -> None:
    content = json.dumps([{"name": f"n{position}", "score": 0.5} for position in range(90_000)]).encode()
    assert len(content) > OFF_LOOP_BYTES
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.001)
            beats += 1

    heart = asyncio.create_task(beat())
    assert (await post(made, content)).status_code == 200
    heart.cancel()
    assert beats > 10  # parsed on the loop, it would be one long pause


@pytest.mark.parametrize("size", [OFF_LOOP_BYTES, OFF_LOOP_BYTES + 1])
async def test_bodies_on_both_sides_of_the_bound_read_alike(made: Sample, size: int) -> None:
    assert (await post(made, b'"' + b"x" * (size - 2) + b'"')).json()["type"] == "str"
    assert problem(await post(made, b'"' + b"x" * (size - 1)), 400)["code"] == "malformed_json"


async def test_an_answer_comes_before_the_body_is_read_where_the_caller_is_unknown(made: Sample) -> None:
    read = False

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal read
        read = True
        yield b"{}"

    async with made.client(role=None) as client:
        answer = await client.post("/v1/echo", content=chunks(), headers=JSON)
    assert problem(answer, 401)["code"] == "missing_token"
    assert not read
