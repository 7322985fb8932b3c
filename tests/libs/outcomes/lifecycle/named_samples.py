"""Verifiers as operators write them, good and bad, for the tests of the registry and of its job."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, field_serializer

from aex_models.contract import Candidate
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.rejection import FatalAgentError, VerificationRejected

NO_FUNCTION = 7


class Summary(BaseModel):
    text: str
    words: int = 0


class Verdict(StrEnum):
    GOOD = "good"


@dataclass
class Report:
    at: datetime
    price: Decimal
    verdict: Verdict
    summary: Summary
    seen: set[int]


class Grumpy(BaseModel):
    text: str = "x"

    @field_serializer("text")
    def _reported(self, text: str) -> str:
        raise RuntimeError(f"not {text}")


async def verify_summary(output: Summary, agent_ctx: AgentContext, execution_ctx: ExecutionContext) -> dict[str, Any]:
    await asyncio.sleep(0)
    if "bad" in output.text:
        raise VerificationRejected("say something good", code="tone", metadata={"words": output.words})
    if "hopeless" in output.text:
        raise FatalAgentError("no attempt can help")
    if "broken" in output.text:
        raise ZeroDivisionError("the verifier's own")
    return {
        "text": output.text.upper(),
        "attempt": agent_ctx.attempt,
        "contract_id": execution_ctx.contract_id,
        "deadline": execution_ctx.deadline,
        "in_time": execution_ctx.clock.now() < execution_ctx.deadline,
    }


def verify_alone(output: Summary, execution_ctx: ExecutionContext | None) -> bool:
    return execution_ctx is None and bool(output.text)


def returning(output: str) -> Any:
    circle: list[Any] = []
    circle.append(circle)
    values: dict[str, Any] = {
        "none": None,
        "report": Report(
            datetime(2026, 1, 2, tzinfo=UTC), Decimal("1.10"), Verdict.GOOD, Summary(text="s", words=1), {3}
        ),
        "nan": {"a": [1, float("nan")]},
        "big": {"a/b": 2**60},
        "large_float": {"a": 1e17},
        "surrogate": "\ud800",
        "circle": circle,
        "object": object(),
        "bytes": b"\xff",
        "grumpy": Grumpy(),
        "huge": "x" * 10_000_001,
        "as_big_as_it_may_be": "x" * 9_999_998,
    }
    return values[output]


def rejecting(output: str) -> None:
    """With metadata of the kind that the output names."""
    values: dict[str, Any] = {
        "plain": {"b": [1, None], "a": Summary(text="s")},
        "nan": {"a": float("nan"), "b": [float("-inf"), 2**60, 10**17], "c": "kept"},
        "odd": {"a": object(), "b": b"\xff", "c": "\ud800", "d": Verdict.GOOD},
        "long": {"first": "x" * 1000, "second": "x" * 70_000, "third": 1},
    }
    raise VerificationRejected("m" * 5_000 + "\ud800" if output == "long" else "\ud800", "c" * 200, values[output])


async def lingering(output: str) -> str:
    """Leaves a task behind that ends when it is cancelled, or never."""

    async def stubborn() -> None:
        while output == "stubborn":
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue
        await asyncio.sleep(60)

    left.append(asyncio.create_task(stubborn()))
    await asyncio.sleep(0)
    return output


left: list[asyncio.Task[None]] = []


def misreading(output: str) -> Any:
    return Summary.model_validate_json(output), json.loads(output)


def leaving(output: str) -> None:
    os._exit(3 if output else 4)


class Threshold:
    """A verifier with a setting of its own."""

    def __init__(self, least: int) -> None:
        self.least = least

    def __call__(self, output: Summary, candidate: Candidate) -> int:
        if len(output.text) < self.least:
            raise VerificationRejected("too short")
        return len(candidate.artifacts)

    def verify(self, output: Summary) -> int:
        return self.least + len(output.text)


at_least_three = Threshold(3)


def untyped(output):  # type: ignore[no-untyped-def]
    return output


def unserved(output: Summary, database: Any) -> None:
    del output, database


def unresolved(output: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821 it is what the test is about
    del output
