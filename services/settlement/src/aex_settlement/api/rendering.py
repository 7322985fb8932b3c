"""Answers of perhaps thousands of rows, made in a thread and in pieces, so that nobody else waits for them."""

import asyncio
import json
from typing import Any

from fastapi import Response
from pydantic import BaseModel

from aex_runtime.http.auth import Principal
from aex_settlement.api.parameters import shown

_PIECE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
"""In C, and so without a break: for one row at a time."""


async def large_answer(answer: BaseModel, reader: Principal) -> Response:
    """What this reader may see of an answer, as JSON."""
    content = await asyncio.to_thread(_content, answer, reader)
    return Response(content, media_type="application/json")


def _content(answer: BaseModel, reader: Principal) -> bytes:
    fields = (f"{_PIECE(name)}:{_value(value)}" for name, value in shown(answer, reader).items())
    return f"{{{','.join(fields)}}}".encode()


def _value(value: Any) -> str:
    return f"[{','.join(map(_PIECE, value))}]" if isinstance(value, list) else _PIECE(value)
