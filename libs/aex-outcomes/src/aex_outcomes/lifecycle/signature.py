"""What a verifier's parameters ask for: worked out once, from its signature, so that no bad one is found late."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from aex_models.contract import Candidate
from aex_outcomes.lifecycle.annotations import EMPTY, Unresolved, members, resolved, takes
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext


class InvalidVerifier(ValueError):
    """A verifier that cannot be run as it is declared; the message names the parameter and the fix."""


class Supply(StrEnum):
    """What a verifier may ask for beside the output: each under this name, or by its type's annotation."""

    AGENT_CTX = "agent_ctx"
    EXECUTION_CTX = "execution_ctx"
    CANDIDATE = "candidate"


_TYPES: dict[Supply, type] = {
    Supply.AGENT_CTX: AgentContext,
    Supply.EXECUTION_CTX: ExecutionContext,
    Supply.CANDIDATE: Candidate,
}
_OFFER = (
    "(output, agent_ctx: AgentContext, execution_ctx: ExecutionContext, candidate: Candidate), all but output optional"
)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Injection:
    """How a verifier is called."""

    output: str
    """The name of the parameter that the output goes to."""
    output_annotation: Any
    """As it is declared, resolved: `EMPTY` where there is none, `Unresolved` where it names what is not there."""
    positional: tuple[tuple[Supply | None, Any], ...] = ()
    """The positional-only parameters behind the output: what each is given, or else its default."""
    named: tuple[tuple[str, Supply], ...] = ()

    def call(self, verify: Callable[..., Any], output: Any, supplies: Mapping[Supply, Any]) -> Any:
        """Call it. What it raises or returns, an awaitable included, is the caller's."""
        behind = [default if asked is None else supplies[asked] for asked, default in self.positional]
        return verify(output, *behind, **{name: supplies[asked] for name, asked in self.named})


def injection_of(verify: Callable[..., Any]) -> Injection:
    """The plan for a callable. Raises `InvalidVerifier` for one that cannot be served."""
    parameters = _parameters(verify)
    first = next(iter(parameters), None)
    if first is None or first.kind not in _POSITIONAL:
        raise InvalidVerifier(
            f"The verifier has no positional parameter for the output: declare it as {_OFFER}; a decorator around it "
            "needs functools.wraps"
        )
    annotation = resolved(verify, first.annotation, _NAMES)
    _refuse_context_first(first, annotation)
    bound = verify.keywords if isinstance(verify, partial) else {}
    others = [each for each in parameters[1:] if each.kind not in _COLLECTING and each.name not in bound]
    asked = {each.name: _asked(each, resolved(verify, each.annotation, _NAMES)) for each in others}
    return Injection(
        output=first.name,
        output_annotation=annotation,
        positional=tuple(
            (asked[each.name], each.default) for each in others if each.kind is inspect.Parameter.POSITIONAL_ONLY
        ),
        named=tuple(
            (each.name, supply)
            for each in others
            if each.kind is not inspect.Parameter.POSITIONAL_ONLY and (supply := asked[each.name]) is not None
        ),
    )


_NAMES = {each.__name__: each for each in _TYPES.values()}
"""What annotations may name although it is imported for type checkers alone."""


def _parameters(verify: Callable[..., Any]) -> list[inspect.Parameter]:
    if isinstance(verify, type):
        raise InvalidVerifier(
            f"The verifier is the class {verify.__name__}, and making an object would pass everything: "
            f"give an instance, {verify.__name__}(…), or a function"
        )
    if not callable(verify):
        raise InvalidVerifier(
            f"The verifier is of type {type(verify).__name__}, which cannot be called: give the function itself"
        )
    for each in (verify, type(verify).__call__):
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise InvalidVerifier("The verifier is a generator, which would never run: return instead of yield")
    try:
        return list(inspect.signature(verify).parameters.values())
    except (ValueError, TypeError) as error:
        raise InvalidVerifier(f"The verifier's signature cannot be read ({error}): wrap it in a function") from error


def _refuse_context_first(first: inspect.Parameter, annotation: Any) -> None:
    ours = [kind.__name__ for kind in _TYPES.values() if kind in members(annotation)]
    if annotation is EMPTY and first.name in {Supply.AGENT_CTX, Supply.EXECUTION_CTX}:
        ours = [_TYPES[Supply(first.name)].__name__]
    if ours:
        raise InvalidVerifier(
            f"The verifier's first parameter is given the output, but {first.name!r} is meant for "
            f"{_article(ours[0])}: put a parameter for the output first"
        )


def _asked(parameter: inspect.Parameter, annotation: Any) -> Supply | None:
    """What is given to a parameter; None where its default stands."""
    by_type = [supply for supply, kind in _TYPES.items() if kind in members(annotation)]
    if len(by_type) == 1:
        return by_type[0]
    by_name = next((supply for supply in Supply if supply.value == parameter.name), None)
    if by_name is not None:
        return _named(parameter, annotation, by_name)
    if parameter.default is not EMPTY:
        return None
    if isinstance(annotation, Unresolved):
        raise InvalidVerifier(
            f"The annotation {annotation.text!r} of the verifier's parameter {parameter.name!r} cannot be resolved "
            f"({annotation.problem}): import what it names where the verifier is defined"
        )
    raise InvalidVerifier(
        f"Nobody gives the verifier's parameter {parameter.name!r} a value: a verifier takes {_OFFER}; "
        f"annotate it with one of these types, give it a default, or bind it with functools.partial"
    )


def _named(parameter: inspect.Parameter, annotation: Any, supply: Supply) -> Supply:
    kind = _TYPES[supply]
    if isinstance(annotation, Unresolved) or takes(annotation, kind):
        return supply
    raise InvalidVerifier(
        f"The verifier's parameter {parameter.name!r} is given {_article(kind.__name__)}, but is annotated "
        f"{inspect.formatannotation(annotation)}: annotate it {kind.__name__}, or give it another name"
    )


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AE' else 'a'} {name}"
