import asyncio
from collections.abc import Mapping, Sequence

import pytest
from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.types import Message

from aex_runtime.errors import DomainError, InvalidRequest, TooLarge
from aex_runtime.http.streaming import TransferRate
from aex_runtime.http.upload import check_upload_headers, stream_body
from tests.libs.runtime.background import in_virtual_time


def make_request(
    pieces: Sequence[tuple[float, bytes]] = (), headers: Mapping[str, str] | None = None, *, ends: bool = True
) -> Request:
    messages: list[tuple[float, Message]] = [
        (seconds, {"type": "http.request", "body": piece, "more_body": True}) for seconds, piece in pieces
    ]
    end: Message = {"type": "http.request", "body": b""} if ends else {"type": "http.disconnect"}
    left = iter([*messages, (0.0, end)])

    async def receive() -> Message:
        seconds, message = next(left)
        await asyncio.sleep(seconds)
        return message

    sent = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    return Request({"type": "http", "headers": sent}, receive)


async def read_body(request: Request, min_rate: TransferRate | None = None) -> bytes:
    return b"".join([piece async for piece in stream_body(request, min_rate or TransferRate())])


@pytest.mark.parametrize(
    ("headers", "kind", "code"),
    [
        ({"content-length": "1001"}, TooLarge, "body_too_large"),
        ({"content-length": "9" * 5_000}, TooLarge, "body_too_large"),
        ({"content-length": "0"}, InvalidRequest, "empty_body"),
        ({"content-length": "0" * 5_000}, InvalidRequest, "empty_body"),
        ({"content-type": "multipart/form-data; boundary=x"}, InvalidRequest, "unsupported_media_type"),
        ({"content-encoding": "gzip"}, InvalidRequest, "unsupported_encoding"),
    ],
)
def test_headers_are_checked_before_the_body(headers: dict[str, str], kind: type[DomainError], code: str) -> None:
    with pytest.raises(kind) as refused:
        check_upload_headers(make_request(headers=headers), 1_000)
    assert refused.value.code == code


@in_virtual_time
async def test_body_is_streamed_unchanged() -> None:
    assert await read_body(make_request([(0, b"ab"), (0.01, b""), (0, b"c")])) == b"abc"
    assert await read_body(make_request()) == b""


async def test_disconnected_sender_raises() -> None:
    with pytest.raises(ClientDisconnect):
        await read_body(make_request([(0, b"ab")], ends=False))


@in_virtual_time
async def test_stalled_sender_is_disconnected() -> None:
    with pytest.raises(ClientDisconnect):
        await read_body(make_request([(0, b"x"), (60, b"y")]), TransferRate(grace_s=0.05))


@in_virtual_time
async def test_sender_below_the_minimum_rate_is_disconnected() -> None:
    trickle = [(0.02, b"x")] * 100
    with pytest.raises(ClientDisconnect):
        await read_body(make_request(trickle), TransferRate(grace_s=0.2, min_bytes_per_s=1_000))
    enough = make_request([(0.09, b"x" * 100)] * 20)
    assert len(await read_body(enough, TransferRate(grace_s=0.2, min_bytes_per_s=1_000))) == 2_000
