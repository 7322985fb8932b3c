"""JSON request bodies: limited in size and memory, and parsed strictly, large ones in a thread."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from aex_models.canonical import canonical_digest
from aex_runtime.errors import InvalidRequest, RateLimited, TemporarilyUnavailable, TooLarge
from aex_runtime.http.strict_json import parse_strict_json
from aex_runtime.http.upload import content_length, parse_media_type, read_body

SMALL_BYTES = 65_536
"""Size above which a body takes memory budget and is parsed in a thread, so that other requests are not delayed."""
HUGE_BYTES = 1_000_000
MAX_BODY_BYTES = 10_000_000
_MEGABYTE = 1_000_000
_RETRY_AFTER_S = 1


class MemoryBudget:
    """A limit of the memory for large request bodies in progress, in bytes, per caller and in total."""

    def __init__(self, per_caller: int = 64 * _MEGABYTE, total: int = 256 * _MEGABYTE) -> None:
        self._per_caller, self._total = per_caller, total
        self._reserved: Counter[str] = Counter()
        self.huge_body_lock = asyncio.Lock()
        """Held while a body above `HUGE_BYTES` is parsed. Several at once would block the event loop for seconds."""

    @property
    def reserved(self) -> int:
        """Bytes that all callers have reserved."""
        return self._reserved.total()

    @contextmanager
    def reserve(self, caller: str) -> Iterator["MemoryReservation"]:
        """Yield a reservation for one body, empty at first; it is released when the block ends."""
        reservation = MemoryReservation(self, caller)
        try:
            yield reservation
        finally:
            self.reserve_or_release(caller, -reservation.size)

    def reserve_or_release(self, caller: str, change_bytes: int) -> None:
        """Reserve bytes for a caller, or release them when `change_bytes` is negative.

        Raises `RateLimited` above the caller's limit, and `TemporarilyUnavailable` above the total.
        """
        if change_bytes > 0 and self._reserved[caller] + change_bytes > self._per_caller:
            limit = f"{self._per_caller // _MEGABYTE} MB"
            message = f"the bodies of your requests in progress may hold {limit} together; retry when one has ended"
            raise RateLimited("too_many_bytes", message, retry_after_s=_RETRY_AFTER_S)
        if change_bytes > 0 and self.reserved + change_bytes > self._total:
            limit = f"{self._total // _MEGABYTE} MB"
            message = f"this instance already holds its maximum of {limit} of bodies; retry after {_RETRY_AFTER_S} s"
            raise TemporarilyUnavailable("bodies_busy", message, retry_after_s=_RETRY_AFTER_S)
        self._reserved[caller] += change_bytes
        if not self._reserved[caller]:
            del self._reserved[caller]


@dataclass(slots=True)
class MemoryReservation:
    """The number of bytes that are reserved for one body."""

    budget: MemoryBudget
    caller: str
    size: int = 0

    def resize_to_body(self, size: int) -> None:
        """Make the reservation as large as the body so far; a body of at most `SMALL_BYTES` needs none.

        Raises as `MemoryBudget.reserve_or_release` does.
        """
        if size > SMALL_BYTES:
            self.budget.reserve_or_release(self.caller, size - self.size)
            self.size = size


class StrictRequest(Request):
    """A request with a limited body that is parsed as strict JSON. FastAPI reads all bodies through it."""

    parsed: Any = None
    """Value of the JSON body once it was read; None if there is no body."""
    is_large = False
    _reservation: MemoryReservation | None = None

    @contextmanager
    def reserve_memory(self, caller: str) -> Iterator[None]:
        """Count the body against the caller's memory budget, from its reading until the block ends."""
        budget: MemoryBudget = self.app.state.memory_budget
        with budget.reserve(caller) as self._reservation:
            yield

    async def body(self) -> bytes:
        """Read the complete body and return it. Later calls return the same bytes.

        Raises `TooLarge` above 10 MB, as soon as that is known, and as `MemoryBudget.reserve_or_release` does.
        """
        if not hasattr(self, "_body"):
            too_large = TooLarge("body_too_large", f"a body has at most {MAX_BODY_BYTES // _MEGABYTE} MB")
            if (content_length(self) or 0) > MAX_BODY_BYTES:
                raise too_large
            report_size = self._reservation.resize_to_body if self._reservation else None
            self._body = await read_body(self, MAX_BODY_BYTES, too_large, report_size)
        return self._body

    async def json(self) -> Any:
        """Read and parse the body; return its value. Raises `InvalidRequest` if it is not strict JSON."""
        if not hasattr(self, "_json"):
            raw = await self.body()
            _check_content_type(self.headers.get("content-type"))
            self.is_large = len(raw) > SMALL_BYTES
            if self.is_large:
                budget: MemoryBudget = self.app.state.memory_budget
                async with budget.huge_body_lock if len(raw) > HUGE_BYTES else nullcontext():
                    self.parsed = await asyncio.to_thread(parse_strict_json, raw)
            else:
                self.parsed = parse_strict_json(raw)
            self._json = self.parsed
        return self._json

    async def read_and_parse_body(self) -> None:
        """Read and parse the body, if there is one, before FastAPI does.

        FastAPI would replace the errors by its own.
        """
        if await self.body():
            await self.json()


async def body_digest(request: Request) -> str:
    """Return the SHA-256 of the parsed JSON body in canonical form; a missing body counts as null."""
    if not isinstance(request, StrictRequest):
        raise TypeError("the route was not declared on a service_router()")
    return (
        await asyncio.to_thread(canonical_digest, request.parsed)
        if request.is_large
        else canonical_digest(request.parsed)
    )


async def request_body_size(request: Request) -> int:
    """Return the size of the body in bytes."""
    return len(await request.body())


def _check_content_type(header: str | None) -> None:
    if header == "application/json":  # the usual value, without the cost of parsing it
        return
    message = parse_media_type(header)
    subtype = message.get_content_subtype()
    is_json = message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))
    if not is_json:
        raise InvalidRequest("unsupported_media_type", "the body must be application/json")
    if message.get_content_charset("utf-8") not in {"utf-8", "utf8", "us-ascii"}:
        raise InvalidRequest("unsupported_media_type", "JSON is UTF-8")


@dataclass(frozen=True, slots=True)
class DocumentedBody:
    """An annotation of a body that OpenAPI describes as `model`, and that only its handler validates."""

    model: type[BaseModel]
    accepts_anything: bool = False
    """True if the handler answers any JSON value with a list of its problems, instead of refusing it."""

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        documented = handler(self.model.__pydantic_core_schema__)
        anything = {"description": "Anything else is answered with its problems"}
        return {"anyOf": [documented, anything]} if self.accepts_anything else documented
