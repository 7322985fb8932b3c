"""Uploads of any bytes: streamed in constant memory, with a minimum rate.

A route that takes an upload declares no body, documents `BINARY_BODY`, and passes `stream_body(request)` to
`Blobs.put_stream`. JSON bodies and forms are read through `read_body`, so that no sender can stall for ever.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import asdict
from email.message import Message
from typing import Any

import structlog
from fastapi import Request

from aex_runtime.errors import InvalidRequest, TooLarge
from aex_runtime.http.connections import disconnect
from aex_runtime.http.streaming import TransferRate

BINARY_BODY: Mapping[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The bytes themselves, whatever `Content-Type` says they are; no form, no encoding.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}},
    }
}
"""Value for `openapi_extra`."""
MIN_RATE = TransferRate()
_MAX_SIZE_DIGITS = 18
_log = structlog.get_logger(__name__)


def check_upload_headers(request: Request, max_bytes: int) -> None:
    """Raise `InvalidRequest` or `TooLarge` when the headers already show that the body will be refused."""
    if parse_media_type(request.headers.get("content-type")).get_content_maintype() == "multipart":
        raise InvalidRequest("unsupported_media_type", "send the bytes themselves, not a form (curl: -T FILE)")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise InvalidRequest("unsupported_encoding", "send the bytes without a Content-Encoding")
    declared = content_length(request)
    if declared is not None and declared > max_bytes:
        raise body_too_large(max_bytes)
    if declared == 0:
        raise empty_body()


def parse_media_type(header: str | None) -> Message:
    """Return a message with this `Content-Type`, or with none."""
    message = Message()
    message["content-type"] = header or ""
    return message


def content_length(request: Request) -> int | None:
    """Return the declared `Content-Length`, or None when it is no number; huge numbers are cut."""
    header = request.headers.get("content-length", "")
    return int(header.lstrip("0")[:_MAX_SIZE_DIGITS] or "0") if header.isdecimal() else None


async def stream_body(request: Request, min_rate: TransferRate = MIN_RATE) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of the body as they arrive.

    Raises `ClientDisconnect` when the sender left, or is slower than `min_rate` and was disconnected.
    """
    clock = asyncio.get_running_loop().time
    grace_s = min_rate.grace_s
    chunks = request.stream()
    while True:
        started, timeout = clock(), asyncio.timeout(grace_s)
        try:
            async with timeout:
                chunk = await anext(chunks, b"")  # the end is an empty chunk too
        except TimeoutError:
            if not timeout.expired():
                raise
            _log.warning("slow_sender_disconnected", **asdict(min_rate))
            disconnect(request.scope)
        if not chunk:
            return
        grace_s = min_rate.next_grace(grace_s, clock() - started, len(chunk))
        yield chunk


async def read_body(
    request: Request, max_bytes: int, too_large: TooLarge, resize: Callable[[int], None] | None = None
) -> bytes:
    """Return the complete body; `resize` takes its size so far. Raises `too_large` above `max_bytes`."""
    content = bytearray()
    async with aclosing(stream_body(request)) as chunks:
        async for chunk in chunks:
            content += chunk
            if len(content) > max_bytes:
                raise too_large
            if resize is not None:
                resize(len(content))
    return bytes(content)


def body_too_large(max_bytes: int) -> TooLarge:
    """Return the error of an upload above `max_bytes`."""
    return TooLarge("body_too_large", f"an upload has at most {max_bytes // 1_000_000} MB")


def empty_body() -> InvalidRequest:
    """Return the error of an upload without a byte."""
    return InvalidRequest("empty_body", "an upload has at least one byte: send the file as the body (curl: -T FILE)")
