"""Signature of a custom verifier: the arguments of its parameters, decided before its first candidate."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from aex_models.contract import Candidate
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext

EMPTY: Any = inspect.Parameter.empty
_WIDER = {int: (float, complex), float: (complex,)}
"""Number types that an annotation accepts by PEP 484 though they are no base classes."""


@dataclass(frozen=True, slots=True)
class UnresolvedAnnotation:
    """Annotation that cannot be evaluated, for example because a name is imported for type checkers only."""

    text: str
    problem: str


def resolve_annotation(function: Callable[..., Any], annotation: Any, extra_names: Mapping[str, Any]) -> Any:
    """Return the annotation with its strings evaluated in the function's module.

    `extra_names`: further names that an annotation may use. Returns an `UnresolvedAnnotation` if evaluation fails.
    """

    def annotated() -> None: ...

    annotated.__annotations__ = {"it": annotation}
    try:
        names = {**extra_names, **_namespace(function)}
        return get_type_hints(annotated, globalns=names, localns={}, include_extras=True)["it"]
    except Exception as error:  # noqa: BLE001 evaluating an annotation can raise anything
        return UnresolvedAnnotation(str(annotation), f"{type(error).__name__}: {error}")


def _namespace(function: Any) -> Mapping[str, Any]:
    found = inspect.unwrap(function)
    if isinstance(found, partial):
        return _namespace(found.func)
    if inspect.ismethod(found):
        return _namespace(found.__func__)
    if not inspect.isfunction(found):  # an object that can be called
        found = inspect.unwrap(type(found).__call__)
    return getattr(found, "__globals__", {})


def list_annotation_types(annotation: Any) -> tuple[Any, ...]:
    """Return the types that an annotation names: X and NoneType for `X | None`, X for `Annotated[X, …]`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return list_annotation_types(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        return tuple(each for argument in get_args(annotation) for each in list_annotation_types(argument))
    return (annotation,)


def annotation_accepts(annotation: Any, kind: type) -> bool:
    """Return True if a parameter with this annotation accepts an instance of the type.

    A missing annotation and `Any` accept every type. Any other must be the type, a base class of it, or a protocol that
    it satisfies; of a union one member suffices.
    """
    return annotation is EMPTY or any(
        _includes(get_origin(each) or each, kind) for each in list_annotation_types(annotation)
    )


def _includes(required: Any, kind: type) -> bool:
    if required is Any:
        return True
    if getattr(required, "_is_protocol", False):
        protocols = [each for each in required.__mro__ if getattr(each, "_is_protocol", False)]
        return {name for name in _member_names(protocols) if not name.startswith("_")} <= _member_names(kind.__mro__)
    return isinstance(required, type) and required in kind.__mro__


def _member_names(classes: Iterable[type]) -> set[str]:
    return {name for each in classes for name in (*vars(each), *inspect.get_annotations(each))}


def annotation_excludes(annotation: Any, output_type: Any) -> bool:
    """Return True if surely no output of this type fits the annotation.

    False if it may fit; only plain classes can be compared.
    """
    if isinstance(annotation, UnresolvedAnnotation):
        return False
    declared, given = list_annotation_types(annotation), list_annotation_types(output_type)
    if len(declared) != 1 or len(given) != 1 or not all(isinstance(each, type) for each in (*declared, *given)):
        return False
    required, kind = declared[0], given[0]
    if required in (EMPTY, Any) or kind is Any or required in _WIDER.get(kind, ()):
        return False
    try:
        return not issubclass(kind, required)
    except TypeError:  # a typed dict or a protocol: a class that refuses the question
        return False


class InvalidVerifier(ValueError):
    """Error for a verifier that cannot be called as declared; the message names parameter and fix."""


class Supply(StrEnum):
    """Argument that a verifier can get beside the output, by a parameter's name or annotation."""

    AGENT_CTX = "agent_ctx"
    EXECUTION_CTX = "execution_ctx"
    CANDIDATE = "candidate"


_TYPES: dict[Supply, type] = {
    Supply.AGENT_CTX: AgentContext,
    Supply.EXECUTION_CTX: ExecutionContext,
    Supply.CANDIDATE: Candidate,
}
_SIGNATURE = (
    "(output, agent_ctx: AgentContext, execution_ctx: ExecutionContext, candidate: Candidate), all but output optional"
)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Injection:
    """Plan of a verifier's call: the argument of each parameter."""

    output: str
    """Name of the output's parameter."""
    output_annotation: Any
    """Resolved annotation of this parameter: `EMPTY` without, `UnresolvedAnnotation` if it cannot be evaluated."""
    positional: Sequence[tuple[Supply | None, Any]]
    """Positional-only parameters after the output: argument, or None and the default."""
    named: Mapping[str, Supply]
    """Argument of each further parameter that gets one, by name."""

    def call(self, verify: Callable[..., Any], output: Any, supplies: Mapping[Supply, Any]) -> Any:
        """Call the verifier with the output and its planned arguments; return its result or awaitable."""
        behind = [default if supply is None else supplies[supply] for supply, default in self.positional]
        return verify(output, *behind, **{name: supplies[supply] for name, supply in self.named.items()})


def plan_injection(verify: Callable[..., Any]) -> Injection:
    """Decide from its signature how to call a verifier.

    Raises `InvalidVerifier` if it cannot be called with an output, or has a parameter without an argument.
    """
    parameters = _parameters(verify)
    first = next(iter(parameters), None)
    if first is None or first.kind not in _POSITIONAL:
        raise InvalidVerifier(
            f"The verifier has no positional parameter for the output: declare it as {_SIGNATURE}; a decorator "
            "around it needs functools.wraps"
        )
    annotation = resolve_annotation(verify, first.annotation, _NAMES)
    _check_first_parameter(first, annotation)
    bound = verify.keywords if isinstance(verify, partial) else {}
    positional: list[tuple[Supply | None, Any]] = []
    named: dict[str, Supply] = {}
    for each in parameters[1:]:
        if each.kind in _COLLECTING or each.name in bound:
            continue
        supply = _supply_of(each, resolve_annotation(verify, each.annotation, _NAMES))
        if each.kind is inspect.Parameter.POSITIONAL_ONLY:
            positional.append((supply, each.default))
        elif supply is not None:
            named[each.name] = supply
    return Injection(first.name, annotation, positional, named)


_NAMES = {each.__name__: each for each in _TYPES.values()}
"""Names that annotations may use though the verifier's module imports them for type checkers only."""


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


def _check_first_parameter(first: inspect.Parameter, annotation: Any) -> None:
    context_types = [kind.__name__ for kind in _TYPES.values() if kind in list_annotation_types(annotation)]
    if annotation is EMPTY and first.name in {Supply.AGENT_CTX, Supply.EXECUTION_CTX}:
        context_types = [_TYPES[Supply(first.name)].__name__]
    if context_types:
        raise InvalidVerifier(
            f"The verifier's first parameter is given the output, but {first.name!r} is meant for "
            f"{_article(context_types[0])}: put a parameter for the output first"
        )


def _supply_of(parameter: inspect.Parameter, annotation: Any) -> Supply | None:
    """Return the argument that a parameter gets; None if it keeps its default. Raises `InvalidVerifier`."""
    by_type = [supply for supply, kind in _TYPES.items() if kind in list_annotation_types(annotation)]
    if len(by_type) == 1:
        return by_type[0]
    by_name = next((supply for supply in Supply if supply.value == parameter.name), None)
    if by_name is not None:
        if isinstance(annotation, UnresolvedAnnotation) or annotation_accepts(annotation, _TYPES[by_name]):
            return by_name
        kind = _TYPES[by_name].__name__
        raise InvalidVerifier(
            f"The verifier's parameter {parameter.name!r} is given {_article(kind)}, but is annotated "
            f"{inspect.formatannotation(annotation)}: annotate it {kind}, or give it another name"
        )
    if parameter.default is not EMPTY:
        return None
    if isinstance(annotation, UnresolvedAnnotation):
        raise InvalidVerifier(
            f"The annotation {annotation.text!r} of the verifier's parameter {parameter.name!r} cannot be resolved "
            f"({annotation.problem}): import what it names where the verifier is defined"
        )
    raise InvalidVerifier(
        f"The verifier's parameter {parameter.name!r} has no value: a verifier takes {_SIGNATURE}; "
        f"annotate it with one of these types, give it a default, or bind it with functools.partial"
    )


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AE' else 'a'} {name}"
