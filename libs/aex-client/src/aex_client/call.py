"""Calls as data, without input and output: a request and the parser of its answer."""

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
    caller's own key; if it is None, each `send` uses one new key for all its retries. `wait_s`: seconds that the
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
        """Return the call with the caller's own idempotency key, which a later process can use again."""
        return replace(self, idempotency_key=idempotency_key)

    def with_cursor(self, cursor: str) -> "Call[T]":
        """Return the call for the page that starts at `cursor`, the `next_cursor` of another page."""
        kept = tuple(pair for pair in self.query if pair[0] != "cursor")
        return replace(self, query=(*kept, ("cursor", cursor)))


def build_get(service: Service, path: str, answer_type: type[T], **query: Any) -> Call[T]:
    """Return a GET call. Query parameters that are None are left out; a list repeats the parameter."""
    return Call(service, "GET", path, build_answer_parser(answer_type), encode_query(query))


def build_post(
    service: Service, path: str, answer_type: type[T], body: bytes | None = None, *, uses_idempotency_key: bool = True
) -> Call[T]:
    """Return a POST call.

    `uses_idempotency_key`: False for a call that changes nothing at the service.
    """
    return Call(
        service, "POST", path, build_answer_parser(answer_type), body=body, uses_idempotency_key=uses_idempotency_key
    )


def build_path(template: str, *names: str) -> str:
    """Return a path from a template such as `/v1/work/{}`, with all special characters of names escaped."""
    return template.format(*(quote(name, safe="") for name in names))


def encode_query(parameters: Mapping[str, Any]) -> Query:
    """Return query parameters as pairs of text, without those that are None.

    A list becomes one pair for each item. Trailing underscores of names, as in `from_`, are removed.
    """
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(name.rstrip("_"), _text(each)) for each in values if each is not None]
    return tuple(pairs)


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def build_answer_parser(answer_type: type[T]) -> Callable[[bytes], T]:
    """Return a function that parses a JSON body as `answer_type`, ignoring unknown fields.

    The function raises `pydantic.ValidationError`.
    """
    adapter = _get_adapter(cast(Hashable, answer_type))
    return lambda content: cast(T, adapter.validate_json(content, extra="ignore"))


@cache
def _get_adapter(answer: Any) -> TypeAdapter[Any]:
    """Return the type's adapter. It is cached, because making it takes longer than parsing an answer."""
    return TypeAdapter(answer)


def unwrap_single_page(page_call: Call[Page[T]]) -> Call[tuple[T, ...]]:
    """Return a call whose answer is the items of the page, for a list that has only one page."""
    return Call(
        page_call.service,
        page_call.method,
        page_call.path,
        lambda content: page_call.read(content).items,
        page_call.query,
    )


def encode_json_body(value: Any) -> bytes:
    """Return a value as the JSON body of a request: models by their set fields, `Decimal` as digits.

    Lone surrogates are escaped; the service refuses them with their pointer. Raises `ValueError` for NaN and infinity.
    """
    try:
        return json.dumps(value, default=_to_plain, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, default=_to_plain, allow_nan=False).encode()


def encode_claims(claims: Mapping[str, Any]) -> bytes:
    """Return claims as a JSON object in which each number keeps its digits.

    `Decimal("11.170")` claims three decimals, and is sent as 11.170. Raises `ValueError` for NaN and infinity.
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
