"""Bodies as they come: bounded, never too slow, and refused by their headers where that tells enough."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.types import Message

from aex_runtime.errors import DomainError, InvalidRequest, TooLarge
from aex_runtime.http.download import Pace
from aex_runtime.http.upload import body_of, check_announced


def a_request(
    pieces: Sequence[tuple[float, bytes]] = (), headers: Mapping[str, str] | None = None, *, ends: bool = True
) -> Request:
    """A request whose body comes in pieces, each after so many seconds. `ends`: whether the sender stays to the end."""
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


async def taken(request: Request, pace: Pace | None = None) -> bytes:
    return b"".join([piece async for piece in body_of(request, pace or Pace())])


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
def test_what_the_headers_tell_is_refused_before_a_byte_is_read(
    headers: dict[str, str], kind: type[DomainError], code: str
) -> None:
    with pytest.raises(kind) as refused:
        check_announced(a_request(headers=headers), 1_000)
    assert refused.value.code == code


@pytest.mark.parametrize("media_type", ["text/csv", "application/json", "application/x-www-form-urlencoded", "", "??"])
def test_any_other_type_is_taken(media_type: str) -> None:
    check_announced(a_request(headers={"content-type": media_type, "content-length": "1000"}), 1_000)
    check_announced(a_request(headers={"transfer-encoding": "chunked"}), 1_000)


async def test_the_pieces_come_as_they_were_sent() -> None:
    assert await taken(a_request([(0, b"ab"), (0.01, b""), (0, b"c")])) == b"abc"
    assert await taken(a_request()) == b""


async def test_a_sender_who_goes_away_is_no_end() -> None:
    with pytest.raises(ClientDisconnect):
        await taken(a_request([(0, b"ab")], ends=False))


async def test_a_sender_who_sends_nothing_for_too_long_is_let_go() -> None:
    with pytest.raises(ClientDisconnect):
        await taken(a_request([(0, b"x"), (60, b"y")]), Pace(patience_s=0.05))


async def test_a_sender_who_trickles_is_let_go_though_something_always_comes() -> None:
    trickle = [(0.02, b"x")] * 100
    with pytest.raises(ClientDisconnect):
        await taken(a_request(trickle), Pace(patience_s=0.2, least_bytes_s=1_000))
    assert await taken(a_request([(0.02, b"x" * 100)] * 20), Pace(patience_s=0.2, least_bytes_s=1_000)) == b"x" * 2_000
