"""Verifiers of an operator, for `aex verify`."""

import socket
from datetime import date
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.rejection import FatalAgentError, VerificationRejected


class Text(BaseModel):
    text: str


class Dated(BaseModel):
    text: str
    day: date
    pages: int


def tone(output: Text, agent_ctx: AgentContext, execution_ctx: ExecutionContext | None) -> dict[str, Any]:
    if "library" not in output.text and "libraries" not in output.text:
        raise VerificationRejected("name\nthe \x1b[31mlibrary", code="no_library", metadata={"text": output.text})
    return {
        "text": output.text.upper(),
        "price": Decimal("1.10"),
        "asked": agent_ctx.query,
        "attempts": agent_ctx.verification.max_attempts,
        "service": execution_ctx is not None,
    }


def dated(output: Dated) -> str:
    return output.day.isoformat()


def hopeless(output: Text) -> None:
    raise FatalAgentError(f"nothing can be made of {len(output.text)} characters")


def broken(output: Text) -> float:
    return 1 / (len(output.text) - len(output.text))


def nan(output: Text) -> dict[str, float]:
    return {"share": float("nan") * len(output.text)}


def endless(output: Text) -> None:
    while output.text:
        pass


def connecting(output: Text) -> str:
    with socket.socket() as opened:
        return f"{output.text[:3]} {opened.family.name}"


def unserved(output: Text, database: Any) -> None:
    del output, database
