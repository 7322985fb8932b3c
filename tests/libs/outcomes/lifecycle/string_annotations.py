"""Verifiers whose annotations are strings, and name what is imported for type checkers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Optional

from pydantic import BaseModel

if TYPE_CHECKING:
    from decimal import Decimal

    from aex_models.contract import Candidate
    from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext


class Summary(BaseModel):
    """An output."""

    text: str


def by_annotation(output: Summary, agent: AgentContext, service: ExecutionContext, sent: Candidate) -> list[Any]:
    return [output.text, agent, service, sent]


def optional(output: Summary, agent: AgentContext | None, service: Optional[ExecutionContext] = None) -> list[Any]:  # noqa: UP045 what older code says
    return [output.text, agent, service]


def annotated(output: Summary, agent: Annotated[AgentContext, "who asks"]) -> list[Any]:
    return [output.text, agent]


def of_a_type_that_is_not_there(output: Decimal) -> None: ...


def needs_what_is_not_there(output: Summary, price: Decimal) -> None: ...
