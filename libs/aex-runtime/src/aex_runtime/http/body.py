"""Request bodies: bounded while they stream in, parsed strictly, and off the event loop where they are large."""

import asyncio
import email.message
from typing import Any

from fastapi import Request

from aex_models.canonical import digest
from aex_runtime.errors import InvalidRequest, TooLarge
from aex_runtime.http.strict_json import parse_strict

MAX_BODY_BYTES = 10_000_000
OFF_LOOP_BYTES = 65_536
"""Larger bodies are parsed in a thread, so that they delay nobody else."""


class StrictRequest(Request):
    """A request whose `json()` is strict. `load()` reads and parses; FastAPI then finds both done."""

    _parsed: Any

    async def load(self) -> None:
        """Read the body, at most 10 MB of it, and parse it. Raises `TooLarge` and `InvalidRequest`."""
        raw = await self._read()
        self._body = raw
        if raw:
            _check_content_type(self.headers.get("content-type"))
            self._json = await asyncio.to_thread(parse_strict, raw) if len(raw) > OFF_LOOP_BYTES else parse_strict(raw)

    async def _read(self) -> bytes:
        announced = self.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > MAX_BODY_BYTES:
            raise _too_large()
        chunks: list[bytes] = []
        size = 0
        async for chunk in self.stream():
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise _too_large()
            chunks.append(chunk)
        return b"".join(chunks)


async def body_digest(request: Request) -> str:
    """SHA-256 over the canonical form of the request's JSON body; empty where there is none."""
    raw = await request.body()
    if not raw:
        return ""
    value = await request.json()
    return await asyncio.to_thread(digest, value) if len(raw) > OFF_LOOP_BYTES else digest(value)


def _too_large() -> TooLarge:
    return TooLarge("body_too_large", f"a body has at most {MAX_BODY_BYTES // 1_000_000} MB")


def _check_content_type(header: str | None) -> None:
    message = email.message.Message()
    message["content-type"] = header or ""
    subtype = message.get_content_subtype()
    charset = message.get_content_charset("utf-8")
    if (
        not header
        or message.get_content_maintype() != "application"
        or not (subtype == "json" or subtype.endswith("+json"))
    ):
        raise InvalidRequest("unsupported_media_type", "the body must be application/json")
    if charset not in {"utf-8", "utf8", "us-ascii"}:
        raise InvalidRequest("unsupported_media_type", "JSON is UTF-8")
