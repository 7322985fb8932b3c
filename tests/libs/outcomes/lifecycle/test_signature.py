import functools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol

import pytest
from pydantic import BaseModel

from aex_models.clock import WallClock
from aex_models.contract import Candidate
from aex_models.frozen import Frozen
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.ruling import Accepted
from aex_outcomes.lifecycle.signature import InvalidVerifier
from aex_outcomes.lifecycle.verifier import CheckedVerifier
from tests.libs.outcomes.lifecycle import string_annotations
from tests.libs.outcomes.lifecycle.string_annotations import Summary

AGENT = AgentContext(query="summarise this")
SERVICE = ExecutionContext("ctr_1", "wrk_1", "bot", "att_1", datetime(2026, 1, 1, tzinfo=UTC), WallClock())
SENT = Candidate(output={"text": "short"}, claimed_metrics={"words": 1})


class TakesContexts(Protocol):
    @property
    def query(self) -> Any: ...


class Prices(Protocol):
    price: int


class Strict:
    """A verifier with settings of its own."""

    def __init__(self, limit: int = 3) -> None:
        self.limit = limit

    async def __call__(self, output: Summary, sent: Candidate) -> list[Any]:
        return [output.text, sent, self.limit]

    def method(self, output: Summary, *, agent_ctx: AgentContext) -> list[Any]:
        return [output.text, agent_ctx]

    @staticmethod
    def static(output: Summary, agent_ctx: Any) -> list[Any]:
        return [output.text, agent_ctx]


def by_annotation(output: Summary, a: AgentContext, e: ExecutionContext, c: Candidate) -> list[Any]:
    return [output.text, a, e, c]


def by_name(output, candidate, execution_ctx, agent_ctx) -> list[Any]:  # type: ignore[no-untyped-def]
    return [output.text, agent_ctx, execution_ctx, candidate]


def by_vague_annotation(output: Summary, agent_ctx: Any, execution_ctx: object, candidate: BaseModel) -> list[Any]:
    return [output.text, agent_ctx, execution_ctx, candidate]


def by_protocol(output: Summary, agent_ctx: TakesContexts) -> list[Any]:
    return [output.text, agent_ctx]


def by_base_class(output: Summary, agent_ctx: Frozen | None = None) -> list[Any]:
    return [output.text, agent_ctx]


def the_annotation_beats_the_name(output: Summary, candidate: AgentContext) -> list[Any]:
    return [output.text, candidate]


def both_named(output: Summary, agent_ctx: AgentContext | Candidate) -> list[Any]:
    return [output.text, agent_ctx]


def positional_only(output: Summary, limit: int = 3, agent: AgentContext | None = None, /) -> list[Any]:
    return [output.text, agent, limit]


def keyword_only(output: Summary, *, agent: AgentContext) -> list[Any]:
    return [output.text, agent]


def with_settings(output: Summary, limit: int = 3, *more: AgentContext, **others: Candidate) -> list[Any]:
    return [output.text, limit, more, others]


def needs_a_limit(output: Summary, limit: int, agent_ctx: Any) -> list[Any]:
    return [output.text, limit, agent_ctx]


async def asynchronous(output: Summary, agent_ctx: AgentContext) -> list[Any]:
    return [output.text, agent_ctx]


def wrapped(verify: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(verify)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return verify(*args, **kwargs)

    return outer


@pytest.mark.parametrize(
    ("verify", "given"),
    [
        (lambda output: [output.text], ["short"]),
        (lambda output, agent_ctx: [output.text, agent_ctx], ["short", AGENT]),
        (by_annotation, ["short", AGENT, SERVICE, SENT]),
        (by_name, ["short", AGENT, SERVICE, SENT]),
        (by_vague_annotation, ["short", AGENT, SERVICE, SENT]),
        (by_protocol, ["short", AGENT]),
        (by_base_class, ["short", AGENT]),
        (the_annotation_beats_the_name, ["short", AGENT]),
        (both_named, ["short", AGENT]),
        (positional_only, ["short", AGENT, 3]),
        (keyword_only, ["short", AGENT]),
        (with_settings, ["short", 3, (), {}]),
        (functools.partial(needs_a_limit, limit=9), ["short", 9, AGENT]),
        (functools.partial(needs_a_limit, limit=9, agent_ctx="mine"), ["short", 9, "mine"]),
        (asynchronous, ["short", AGENT]),
        (functools.partial(asynchronous), ["short", AGENT]),
        (wrapped(asynchronous), ["short", AGENT]),
        (wrapped(string_annotations.by_annotation), ["short", AGENT, SERVICE, SENT]),
        (Strict(7), ["short", SENT, 7]),
        (Strict().method, ["short", AGENT]),
        (Strict.static, ["short", AGENT]),
        (string_annotations.by_annotation, ["short", AGENT, SERVICE, SENT]),
        (string_annotations.optional, ["short", AGENT, SERVICE]),
        (string_annotations.annotated, ["short", AGENT]),
    ],
)
async def test_a_verifier_is_given_what_it_requests(verify: Callable[..., Any], given: list[Any]) -> None:
    ruling = await CheckedVerifier(verify, Summary).decide_ruling(SENT, AGENT, SERVICE)
    assert ruling == Accepted(final_result=given)


async def test_where_there_is_no_service_the_execution_context_is_none() -> None:
    ruling = await CheckedVerifier(by_annotation, Summary).decide_ruling(SENT, AGENT, None)
    assert ruling == Accepted(final_result=["short", AGENT, None, SENT])


def no_parameter() -> None: ...
def output_by_keyword(*, output: Summary) -> None: ...
def collects(*outputs: Summary) -> None: ...
def context_first(ctx: AgentContext, output: Summary) -> None: ...
def candidate_first(sent: Candidate) -> None: ...
def foreign_context(output: Summary, agent_ctx: dict[str, Any]) -> None: ...
def foreign_default(output: Summary, candidate: int = 3) -> None: ...
def unkept_protocol(output: Summary, agent_ctx: Prices) -> None: ...
def two_at_once(output: Summary, either: AgentContext | Candidate) -> None: ...
def takes_a_number(output: int) -> None: ...
def generates(output: Summary) -> Iterator[int]:
    yield len(output.text)


async def generates_later(output: Summary) -> Any:
    yield output


def unwrapped(*args: Any, **kwargs: Any) -> Any:
    return by_name(*args, **kwargs)


class Generating:
    """Would yield each time."""

    def __call__(self, output: Summary) -> Iterator[str]:
        yield output.text


@pytest.mark.parametrize(
    ("verify", "message"),
    [
        (None, "of type NoneType, which cannot be called: give the function itself"),
        ("my_package:verify", "of type str, which cannot be called"),
        (Strict, r"the class Strict, and making an object would pass everything: give an instance, Strict\(…\)"),
        (no_parameter, "no positional parameter for the output: declare it as"),
        (output_by_keyword, "no positional parameter for the output"),
        (collects, "no positional parameter for the output"),
        (unwrapped, "a decorator around it needs functools.wraps"),
        (functools.partial(keyword_only, output=Summary(text="")), "no positional parameter for the output"),
        (context_first, "'ctx' is meant for an AgentContext: put a parameter for the output first"),
        (candidate_first, "'sent' is meant for a Candidate"),
        (lambda agent_ctx: agent_ctx, "'agent_ctx' is meant for an AgentContext"),
        (foreign_context, r"'agent_ctx' is given an AgentContext, but is annotated dict\[str, .*Any\]: annotate it"),
        (foreign_default, "'candidate' is given a Candidate, but is annotated int"),
        (unkept_protocol, "'agent_ctx' is given an AgentContext, but is annotated .*Prices"),
        (two_at_once, "The verifier's parameter 'either' has no value"),
        (needs_a_limit, "The verifier's parameter 'limit' has no value: .* bind it with functools.partial"),
        (string_annotations.needs_what_is_not_there, "annotation 'Decimal' of the .* 'price' cannot be resolved"),
        (takes_a_number, "'output' is annotated int, but output_type is .*Summary: let both say the same"),
        (generates, "a generator, which would never run: return instead of yield"),
        (generates_later, "a generator, which would never run"),
        (Generating(), "a generator, which would never run"),
        (max, "signature cannot be read .*: wrap it in a function"),
    ],
)
def test_a_signature_that_cannot_be_served_is_refused_at_construction(verify: Any, message: str) -> None:
    with pytest.raises(InvalidVerifier, match=message) as refusal:
        CheckedVerifier(verify, Summary)
    assert isinstance(refusal.value, ValueError)


def declares_any(output: Any) -> None: ...
def declares_a_base(output: BaseModel) -> None: ...
def declares_a_float(output: float) -> None: ...
def declares_a_list(output: list[str]) -> None: ...
def declares_more(output: Annotated[Summary | None, "or nothing"]) -> None: ...


@pytest.mark.parametrize(
    ("verify", "output_type"),
    [
        (declares_any, Summary),
        (declares_a_base, Summary),
        (declares_a_float, int),
        (declares_a_list, list[int]),
        (declares_more, Summary),
        (declares_a_base, Any),
        (string_annotations.of_a_type_that_is_not_there, Summary),
        (lambda output: output, dict[str, Any]),
    ],
)
def test_an_output_annotation_that_does_not_contradict_is_taken(verify: Any, output_type: Any) -> None:
    assert CheckedVerifier(verify, output_type).output_type == output_type
