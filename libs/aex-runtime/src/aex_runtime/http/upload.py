"""Uploads of any bytes, streamed in constant memory, from senders that keep a minimum rate.

A route that takes an upload declares no body and documents `BINARY_BODY`. It passes `stream_body(request)` to
`Blobs.put_stream`. JSON bodies and forms are read by `read_body`, which requires the same minimum rate.
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
from aex_runtime.http.connections import disconnect_and_raise
from aex_runtime.http.streaming import TransferRate

BINARY_BODY: Mapping[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The bytes themselves, whatever `Content-Type` says they are; no form, no encoding.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}},
    }
}
"""Value of `openapi_extra` for a route that takes an upload."""
MIN_RATE = TransferRate()
_MAX_SIZE_DIGITS = 18
_log = structlog.get_logger(__name__)


def check_upload_headers(request: Request, max_bytes: int) -> None:
    """Raise an error if the headers show that the upload will be refused.

    Raises `InvalidRequest` for a form, an encoded or an empty body, and `TooLarge` above `max_bytes`.
    """
    if parse_media_type(request.headers.get("content-type")).get_content_maintype() == "multipart":
        raise InvalidRequest("unsupported_media_type", "send the bytes themselves, not a form (curl: -T FILE)")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise InvalidRequest("unsupported_encoding", "send the bytes without a Content-Encoding")
    declared = content_length(request)
    if declared is not None and declared > max_bytes:
        raise upload_too_large_error(max_bytes)
    if declared == 0:
        raise empty_upload_error()


def parse_media_type(header: str | None) -> Message:
    """Parse a `Content-Type` header, which may be None; the result gives its type, charset and parameters."""
    message = Message()
    message["content-type"] = header or ""
    return message


def content_length(request: Request) -> int | None:
    """Return the declared `Content-Length` in bytes; None if it is missing or no number.

    At most 18 digits are read.
    """
    header = request.headers.get("content-length", "")
    return int(header.lstrip("0")[:_MAX_SIZE_DIGITS] or "0") if header.isdecimal() else None


async def stream_body(request: Request, min_rate: TransferRate = MIN_RATE) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of the body as they arrive.

    Raises `ClientDisconnect` if the sender left. A sender slower than `min_rate` is disconnected, with the same error.
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
            disconnect_and_raise(request.scope)
        if not chunk:
            return
        grace_s = min_rate.remaining_grace_s(grace_s, clock() - started, len(chunk))
        yield chunk


async def read_body(
    request: Request, max_bytes: int, too_large_error: TooLarge, report_size: Callable[[int], None] | None = None
) -> bytes:
    """Read the complete body and return it. Raises `too_large_error` above `max_bytes`.

    `report_size` is called with the bytes so far after each chunk. The sender must keep the minimum rate.
    """
    content = bytearray()
    async with aclosing(stream_body(request)) as chunks:
        async for chunk in chunks:
            content += chunk
            if len(content) > max_bytes:
                raise too_large_error
            if report_size is not None:
                report_size(len(content))
    return bytes(content)


def upload_too_large_error(max_bytes: int) -> TooLarge:
    """Return the error for an upload above `max_bytes`."""
    return TooLarge("body_too_large", f"an upload has at most {max_bytes // 1_000_000} MB")


def empty_upload_error() -> InvalidRequest:
    """Return the error for an upload without any byte."""
    return InvalidRequest("empty_body", "an upload has at least one byte: send the file as the body (curl: -T FILE)")
