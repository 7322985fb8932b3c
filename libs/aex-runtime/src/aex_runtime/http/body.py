"""Request bodies: bounded while they stream in, parsed strictly, and off the event loop where they are large."""

import asyncio
import email.message
from collections.abc import Iterator
from contextlib import aclosing, contextmanager, nullcontext
from typing import Any

from fastapi import Request

from aex_models.canonical import digest
from aex_runtime.errors import InvalidRequest, TooLarge
from aex_runtime.http.body_room import HUGE_BYTES, SMALL_BYTES, BodyPlace, BodyRoom
from aex_runtime.http.strict_json import parse_strict
from aex_runtime.http.upload import announced_bytes, body_of

MAX_BODY_BYTES = 10_000_000
OFF_LOOP_BYTES = SMALL_BYTES
"""Larger bodies are parsed in a thread, so that they delay nobody else."""


class StrictRequest(Request):
    """A request whose `body()` is bounded and whose `json()` is strict; FastAPI reads bodies through these two."""

    parsed: Any = None
    """The value of the JSON body, once it was read; None where there is none."""
    is_large = False
    """Whether the body is one to be worked on off the event loop."""
    _place: BodyPlace | None = None

    @contextmanager
    def given_room(self, caller: str) -> Iterator[None]:
        """While the block lasts a body may be read and held, as far as there is room for it."""
        room: BodyRoom = self.app.state.body_room
        with room.place(caller) as self._place:
            yield

    async def body(self) -> bytes:
        """The whole body, at the pace of an upload. Raises `TooLarge` above 10 MB, as soon as that is known, and what
        `BodyRoom.grow` raises where there is no room for it.
        """
        if not hasattr(self, "_body"):
            self._body = await self._read()
        return self._body

    async def json(self) -> Any:
        """The value of the body. Raises `InvalidRequest` for what is not strict JSON."""
        if not hasattr(self, "_json"):
            raw = await self.body()
            _check_content_type(self.headers.get("content-type"))
            self.is_large = len(raw) > OFF_LOOP_BYTES
            self._json = await self._parsed_aside(raw) if self.is_large else parse_strict(raw)
            self.parsed = self._json
        return self._json

    async def load(self) -> None:
        """Read and parse now: FastAPI would turn what is raised later into errors of its own."""
        if await self.body():
            await self.json()

    async def _parsed_aside(self, raw: bytes) -> Any:
        """In a thread; the largest ones one after the other."""
        room: BodyRoom = self.app.state.body_room
        async with room.huge_turn if len(raw) > HUGE_BYTES else nullcontext():
            return await asyncio.to_thread(parse_strict, raw)

    async def _read(self) -> bytes:
        announced = announced_bytes(self)
        if announced is not None and announced > MAX_BODY_BYTES:
            raise _too_large()
        content = bytearray()
        async with aclosing(body_of(self)) as pieces:
            async for piece in pieces:
                content += piece
                if len(content) > MAX_BODY_BYTES:
                    raise _too_large()
                if self._place is not None:
                    self._place.hold(len(content))
        return bytes(content)


async def body_digest(request: Request) -> str:
    """SHA-256 over the canonical form of the JSON body that the route has read; of null where it reads none."""
    if not isinstance(request, StrictRequest):
        raise TypeError("the route was not declared on a service_router()")
    return await asyncio.to_thread(digest, request.parsed) if request.is_large else digest(request.parsed)


def _too_large() -> TooLarge:
    return TooLarge("body_too_large", f"a body has at most {MAX_BODY_BYTES // 1_000_000} MB")


def _check_content_type(header: str | None) -> None:
    if header == "application/json":  # as nearly everybody writes it
        return
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
