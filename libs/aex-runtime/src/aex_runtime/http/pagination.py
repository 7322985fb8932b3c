"""Pages: a limit and an opaque cursor that serves only the query it came from."""

import base64
import binascii
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import JsonValue

from aex_runtime.errors import InvalidRequest
from aex_runtime.http.auth import authenticate
from aex_runtime.store.port import Scalar

DEFAULT_LIMIT, MAX_LIMIT = 50, 200
_SEAL_BYTES = 16
_CURSOR: dict[str, JsonValue] = {"minLength": 24, "pattern": "^[A-Za-z0-9_-]+$"}
"""What every cursor looks like; that one was made for this query no schema can tell."""


@dataclass(frozen=True, slots=True)
class CursorSeal:
    """Seals positions for one query: route, filters and principal."""

    key: bytes
    query: str

    def seal(self, after: tuple[Scalar, str]) -> str:
        """A position as an opaque cursor."""
        position = json.dumps(after, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._mac(position) + position).decode().rstrip("=")

    def open(self, cursor: str) -> tuple[Scalar, str]:
        """The position in a cursor. Raises `InvalidRequest` for one that was not made for this query."""
        try:
            sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            sealed = b""
        mac, position = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
        if not hmac.compare_digest(mac, self._mac(position)):
            raise InvalidRequest("invalid_cursor", "the cursor does not belong to this query")
        value, key = json.loads(position)
        return value, key

    def _mac(self, position: bytes) -> bytes:
        return hmac.digest(self.key, self.query.encode() + b"\0" + position, sha256)[:_SEAL_BYTES]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page: at most `limit` items (1..200) after the position `after`."""

    limit: int
    after: tuple[Scalar, str] | None
    seal: CursorSeal


async def page_request(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: Annotated[
        str | None,
        Query(max_length=4_096, description="`next_cursor` of the page before", json_schema_extra=_CURSOR),
    ] = None,
) -> PageRequest:
    """The dependency of every listing. Raises `InvalidRequest` for a cursor of another query or principal."""
    principal = await authenticate(request)
    filters = sorted((name, value) for name, value in request.query_params.multi_items() if name not in _PAGING)
    query = json.dumps([request.scope["path"], filters, principal.role.value, principal.id, principal.org])
    seal = CursorSeal(request.app.state.cursor_key, query)
    return PageRequest(limit, None if cursor is None else seal.open(cursor), seal)


_PAGING = frozenset({"limit", "cursor"})


def page(
    items: Sequence[Mapping[str, Any]], next_after: tuple[Scalar, str] | None, request: PageRequest
) -> dict[str, Any]:
    """The answer `{items, next_cursor}`; `next_after` is the last document's (ordered value, key), None at the end."""
    return {"items": list(items), "next_cursor": None if next_after is None else request.seal.seal(next_after)}
