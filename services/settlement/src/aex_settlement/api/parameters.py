"""Query parameters and response encoding that several routes share."""

import asyncio
import json
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Response
from pydantic import BaseModel

from aex_models.audiences import Audience, project
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.idempotency import IdempotentRequest, require_idempotency_key
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.periods import DAY, INSTANT
from aex_settlement.rules.settlements import READERS

Json = dict[str, Any]
Reader = Annotated[Principal, Depends(Allow(*READERS))]
Finance = Annotated[Principal, Depends(Allow(Audience.FINANCE))]
Idempotency = Annotated[IdempotentRequest, Depends(require_idempotency_key)]
Page = Annotated[PageRequest, Depends(page_request)]
FirstDay = Annotated[
    str | None, Query(alias="from", description="First UTC day, such as 2025-01-01", json_schema_extra=DAY)
]
LastDay = Annotated[str | None, Query(alias="to", description="Last UTC day, included", json_schema_extra=DAY)]
AsOf = Annotated[
    str | None,
    Query(description="RFC 3339 instant, such as 2025-01-31T12:00:00Z; default now", json_schema_extra=INSTANT),
]
CurrencyCode = Annotated[str | None, Query(pattern="^[A-Z]{3}$", description="ISO 4217, such as USD")]
Name = Annotated[str | None, Query(max_length=128, pattern="^[A-Za-z0-9._:@/+-]+$")]
ContractId = Annotated[str, Path(max_length=128)]
AccountId = Annotated[str, Path(max_length=160, description="Such as consumer:acme or platform:fees")]


def select_visible_fields(answer: BaseModel, reader: Principal) -> Json:
    """Return the fields of an answer that the reader's role may see, as JSON.

    It must not be used for settlements, whose results may be secret; `render_settlement` hides them.
    """
    return project(answer, reader.role)


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
"""JSON encoder for one row at a time: the C encoder holds the interpreter lock until it is done."""


async def build_visible_json_response(answer: BaseModel, reader: Principal) -> Response:
    """Return a response with the fields that the reader's role may see; encoded in a thread."""

    def encode() -> bytes:
        fields = (f"{_encode(name)}:{_value(value)}" for name, value in select_visible_fields(answer, reader).items())
        return f"{{{','.join(fields)}}}".encode()

    return Response(await asyncio.to_thread(encode), media_type="application/json")


def _value(value: Any) -> str:
    return f"[{','.join(map(_encode, value))}]" if isinstance(value, list) else _encode(value)
