"""Calls as data: the request and the parser of its answer. Pure; shared by both clients."""

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter

from aex_client.endpoints import Service
from aex_client.views import Page
from aex_models.numbers import JsonFloat

T = TypeVar("T")
Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request that has not been sent, and the type of its answer.

    `read`: parses the body of a successful response. `uses_idempotency_key`: True for a write. `idempotency_key`: the
    caller's own key; without one, each sending makes a new key, which its retries keep. `wait_s`: seconds that the
    service may take to answer, in addition to the client's time limit.
    """

    service: Service
    method: str
    path: str
    read: Callable[[bytes], T]
    query: Query = ()
    body: bytes | None = None
    uses_idempotency_key: bool = False
    idempotency_key: str | None = None
    wait_s: float = 0.0

    def with_key(self, idempotency_key: str) -> "Call[T]":
        """Return the same call under a key of the caller's own, which outlives this process."""
        return replace(self, idempotency_key=idempotency_key)

    def with_cursor(self, cursor: str) -> "Call[T]":
        """Return the same query, from a page's `next_cursor` on."""
        kept = tuple(pair for pair in self.query if pair[0] != "cursor")
        return replace(self, query=(*kept, ("cursor", cursor)))


def build_get(service: Service, path: str, answer_type: type[T], **query: Any) -> Call[T]:
    """Return a read. Parameters that are None are left out; a sequence repeats its parameter."""
    return Call(service, "GET", path, answer_parser(answer_type), encode_query(query))


def build_post(
    service: Service, path: str, answer_type: type[T], body: bytes | None = None, *, uses_idempotency_key: bool = True
) -> Call[T]:
    """Return a write, or (not `uses_idempotency_key`) a question with a body."""
    return Call(service, "POST", path, answer_parser(answer_type), body=body, uses_idempotency_key=uses_idempotency_key)


def build_path(template: str, *names: str) -> str:
    """Return a path with its parts escaped, slashes too: ids come from elsewhere."""
    return template.format(*(quote(name, safe="") for name in names))


def encode_query(parameters: Mapping[str, Any]) -> Query:
    """Query parameters as text. A trailing underscore, for names that Python keeps for itself, is dropped."""
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(name.rstrip("_"), _text(each)) for each in values if each is not None]
    return tuple(pairs)


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def answer_parser(answer_type: type[T]) -> Callable[[bytes], T]:
    """Return a parser that ignores unknown fields. It raises `pydantic.ValidationError`."""
    adapter = _adapter(cast(Hashable, answer_type))
    return lambda content: cast(T, adapter.validate_json(content, extra="ignore"))


@cache
def _adapter(answer: Any) -> TypeAdapter[Any]:
    """Made once for each type: making one takes longer than reading an answer with it."""
    return TypeAdapter(answer)


def unwrap_page_items(page_call: Call[Page[T]]) -> Call[tuple[T, ...]]:
    """Return the call whose answer is the items alone, for lists that come whole."""
    return Call(
        page_call.service,
        page_call.method,
        page_call.path,
        lambda content: page_call.read(content).items,
        page_call.query,
    )


def encode_json_body(value: Any) -> bytes:
    """Return a request's body: set fields of models, money as plain digits.

    Raises `ValueError` for NaN and infinity.
    """
    return json.dumps(value, default=_to_plain, allow_nan=False, ensure_ascii=False).encode()


def encode_claims(claims: Mapping[str, Any]) -> bytes:
    """Return claims as JSON numbers with their own digits.

    `Decimal("11.170")` claims three decimals, and is sent as 11.170.
    """
    members = (f"{json.dumps(name)}:{_format_number(value)}" for name, value in claims.items())
    return ("{" + ",".join(members) + "}").encode()


def _format_number(value: Any) -> str:
    if isinstance(value, JsonFloat):
        return value.text
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value:f}"
    return json.dumps(value, allow_nan=False)


def _to_plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
