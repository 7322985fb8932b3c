"""Bodies that are taken as they come: any bytes, in constant memory, and nothing of one that breaks off.

A route that takes one declares no body of its own, documents `BINARY_BODY`, and hands `body_of(request)` to
`Blobs.put_stream`. Bodies that are read as a whole come through `body_of` too: nobody may take for ever.
"""

import asyncio
import email.message
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import structlog
from fastapi import Request
from starlette.requests import ClientDisconnect

from aex_runtime.errors import InvalidRequest, TooLarge
from aex_runtime.http.connections import abort_of
from aex_runtime.http.download import Pace

BINARY_BODY: Mapping[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The bytes themselves, whatever `Content-Type` says they are; no form, no encoding.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}},
    }
}
"""For `openapi_extra`."""
PACE = Pace()
_SIZE_DIGITS = 18
_log = structlog.get_logger(__name__)


def check_announced(request: Request, max_bytes: int) -> None:
    """Refuse by its headers what would be refused in the end. Raises `InvalidRequest` and `TooLarge`."""
    message = email.message.Message()
    message["content-type"] = request.headers.get("content-type", "application/octet-stream")
    if message.get_content_maintype() == "multipart":
        raise InvalidRequest("unsupported_media_type", "send the bytes themselves, not a form (curl: -T FILE)")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise InvalidRequest("unsupported_encoding", "send the bytes without a Content-Encoding")
    announced = announced_bytes(request)
    if announced is not None and announced > max_bytes:
        raise too_large(max_bytes)
    if announced == 0:
        raise empty()


def announced_bytes(request: Request) -> int | None:
    """How long the body is by its `Content-Length`, which may be anything; None where that is no number.

    Of thousands of digits, which Python does not read, the first say enough.
    """
    announced = request.headers.get("content-length", "")
    return int(announced.lstrip("0")[:_SIZE_DIGITS] or "0") if announced.isdecimal() else None


async def body_of(request: Request, pace: Pace = PACE) -> AsyncGenerator[bytes, None]:
    """The body's pieces as they arrive.

    Raises `ClientDisconnect` where the sender is gone, or slower than `pace`: its connection is then cut.
    """
    clock = asyncio.get_running_loop().time
    patience_s = pace.patience_s
    pieces = request.stream()
    while True:
        began, slow = clock(), asyncio.timeout(patience_s)
        try:
            async with slow:
                piece = await anext(pieces, b"")  # its end is an empty piece too
        except TimeoutError:
            if not slow.expired():
                raise
            raise _let_go(request, pace) from None
        if not piece:
            return
        earned_s = len(piece) / pace.least_bytes_s
        patience_s = min(patience_s - (clock() - began) + earned_s, pace.patience_s)
        yield piece


def _let_go(request: Request, pace: Pace) -> ClientDisconnect:
    _log.warning("slow_sender_let_go", patience_s=pace.patience_s, least_bytes_s=pace.least_bytes_s)
    abort = abort_of(request.scope)
    if abort is not None:
        abort()
    return ClientDisconnect()


def too_large(max_bytes: int) -> TooLarge:
    """The refusal of more than `max_bytes`."""
    return TooLarge("body_too_large", f"an upload has at most {max_bytes // 1_000_000} MB")


def empty() -> InvalidRequest:
    """The refusal of a body without a byte."""
    return InvalidRequest("empty_body", "an upload has at least one byte: send the file as the body (curl: -T FILE)")
