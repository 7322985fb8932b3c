"""Paging of lists: a limit, and an opaque signed cursor that is valid for its own query only."""

import base64
import binascii
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from fastapi import Query, Request
from pydantic import JsonValue

from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest, Unprocessable
from aex_runtime.http.auth import authenticate
from aex_runtime.http.large_pages import LargePages
from aex_runtime.store.port import Scalar

DEFAULT_LIMIT, MAX_LIMIT = 50, 200
MAX_FILTERS = 2
_PARAMETERS = frozenset({"limit", "cursor"})
_MAC_BYTES = 16
_CURSOR_SCHEMA: dict[str, JsonValue] = {"minLength": 24, "pattern": "^[A-Za-z0-9_-]+$"}


@dataclass(frozen=True, slots=True)
class CursorCodec:
    """Encodes positions as signed cursors. `query` identifies the route, the filters and the principal."""

    key: bytes
    query: str

    def encode(self, after: tuple[Scalar, str]) -> str:
        """Return the cursor of a position."""
        position = json.dumps(after, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._mac(position) + position).decode().rstrip("=")

    def decode(self, cursor: str) -> tuple[Scalar, str]:
        """Return the position in a cursor. Raises `InvalidRequest` unless it was made for this query."""
        try:
            signed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            signed = b""
        mac, position = signed[:_MAC_BYTES], signed[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(position)):
            code, message = "invalid_cursor", "the cursor is not of this query; start at the first page"
            raise InvalidRequest(code, message, [Problem(path="query/cursor", code=code, message=message)])
        value, key = json.loads(position)
        return value, key

    def _mac(self, position: bytes) -> bytes:
        return hmac.digest(self.key, self.query.encode() + b"\0" + position, sha256)[:_MAC_BYTES]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for at most `limit` items (1 to 200) after the position `after` (None: from the start)."""

    limit: int
    after: tuple[Scalar, str] | None
    codec: CursorCodec
    large_pages: LargePages
    """The process's slots for large pages."""

    def next_cursor(self, after: tuple[Scalar, str] | None) -> str | None:
        """Return the `next_cursor` of a page that ends at this position; None at the end of the list."""
        return None if after is None else self.codec.encode(after)


async def page_request(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: Annotated[
        str | None,
        Query(max_length=4_096, description="`next_cursor` of the page before", json_schema_extra=_CURSOR_SCHEMA),
    ] = None,
) -> PageRequest:
    """Return the page that the query parameters request; a dependency of list routes.

    Raises `InvalidRequest` for a cursor of another query, and as `authenticate` does.
    """
    principal = await authenticate(request)
    filters = sorted((name, value) for name, value in request.query_params.multi_items() if name not in _PARAMETERS)
    query = json.dumps([request.scope["path"], filters, principal.role.value, principal.id, principal.org])
    codec = CursorCodec(request.app.state.cursor_key, query)
    return PageRequest(limit, None if cursor is None else codec.decode(cursor), codec, request.app.state.large_pages)


def collect_filters(filters: Mapping[str, object]) -> dict[str, str]:
    """Return the filters that are set, as text. Raises `Unprocessable` for more than `MAX_FILTERS`."""
    requested = {name: str(value) for name, value in filters.items() if value is not None}
    if len(requested) > MAX_FILTERS:
        code, names = "too_many_filters", f"{', '.join(filters)}: these are {', '.join(requested)}"
        message = f"a list takes at most {MAX_FILTERS} of the filters {names}"
        surplus = list(requested)[MAX_FILTERS:]
        raise Unprocessable(
            code, message, [Problem(path=f"query/{each}", code=code, message=message) for each in surplus]
        )
    return requested
