"""Pages of lists: a limit, and an opaque signed cursor that is valid for its own query only."""

import base64
import binascii
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, TypeVar

from fastapi import Query, Request
from pydantic import JsonValue

from aex_models.frozen import Frozen
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.auth import authenticate
from aex_runtime.store.port import Direction, Fields, Scalar, Store
from aex_runtime.store.table import Table

DEFAULT_LIMIT, MAX_LIMIT = 50, 200
_PARAMETERS = frozenset({"limit", "cursor"})
_MAC_BYTES = 16
_CURSOR_SCHEMA: dict[str, JsonValue] = {"minLength": 24, "pattern": "^[A-Za-z0-9_-]+$"}


@dataclass(frozen=True, slots=True)
class CursorCodec:
    """Signed cursors of one query: route, filters and principal."""

    key: bytes
    query: str

    def encode(self, after: tuple[Scalar, str]) -> str:
        """Return a position as an opaque cursor."""
        position = json.dumps(after, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._mac(position) + position).decode().rstrip("=")

    def decode(self, cursor: str) -> tuple[Scalar, str]:
        """Return the position in a cursor. Raises `InvalidRequest` when it was not made for this query."""
        try:
            signed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            signed = b""
        mac, position = signed[:_MAC_BYTES], signed[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(position)):
            raise InvalidRequest("invalid_cursor", "the cursor is not of this query; start at the first page")
        value, key = json.loads(position)
        return value, key

    def _mac(self, position: bytes) -> bytes:
        return hmac.digest(self.key, self.query.encode() + b"\0" + position, sha256)[:_MAC_BYTES]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Request of at most `limit` items (1..200) after the position `after`."""

    limit: int
    after: tuple[Scalar, str] | None
    codec: CursorCodec


async def page_request(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    cursor: Annotated[
        str | None,
        Query(max_length=4_096, description="`next_cursor` of the page before", json_schema_extra=_CURSOR_SCHEMA),
    ] = None,
) -> PageRequest:
    """Return the requested page, as a dependency. Raises `InvalidRequest` for a cursor of another query."""
    principal = await authenticate(request)
    filters = sorted((name, value) for name, value in request.query_params.multi_items() if name not in _PARAMETERS)
    query = json.dumps([request.scope["path"], filters, principal.role.value, principal.id, principal.org])
    codec = CursorCodec(request.app.state.cursor_key, query)
    return PageRequest(limit, None if cursor is None else codec.decode(cursor), codec)


def page_body(
    items: Sequence[Mapping[str, Any]], next_after: tuple[Scalar, str] | None, request: PageRequest
) -> dict[str, Any]:
    """Return `{items, next_cursor}`; `next_after` is the last (ordered value, key), None at the end."""
    return {"items": list(items), "next_cursor": None if next_after is None else request.codec.encode(next_after)}


M = TypeVar("M", bound=Frozen)


async def list_page(
    store: Store,
    table: Table[M],
    paging: PageRequest,
    render: Callable[[M], Awaitable[dict[str, Any]]],
    *,
    equal: Fields,
    order: str,
    direction: Direction = "desc",
) -> dict[str, Any]:
    """Return the records of an indexed query as `{items, next_cursor}`.

    One record more than the page holds is read, to know whether it is the last page.
    """
    found = await table.find(store, equal, order, direction, after=paging.after, limit=paging.limit + 1)
    last = found[paging.limit - 1].document if len(found) > paging.limit else None
    after = (last.fields[order], last.key) if last else None
    return page_body([await render(each.record) for each in found[: paging.limit]], after, paging)
