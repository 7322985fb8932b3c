"""Annotations of other people's functions: resolved, taken apart, and held against our types."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

EMPTY: Any = inspect.Parameter.empty
_WIDER = {int: (float, complex), float: (complex,)}
"""What an annotation may say of numbers (PEP 484), although no subclass relation is there."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An annotation that names what is not there at run time."""

    text: str
    problem: str


def resolved(function: Callable[..., Any], annotation: Any, known: Mapping[str, Any]) -> Any:
    """The annotation, with strings evaluated where the function was defined; `known` names are there in any case."""

    def holder() -> None: ...

    holder.__annotations__ = {"it": annotation}
    try:
        return get_type_hints(holder, globalns={**known, **_namespace(function)}, localns={}, include_extras=True)["it"]
    except Exception as error:  # noqa: BLE001 an annotation is an expression: evaluating it can fail in any way
        return Unresolved(str(annotation), f"{type(error).__name__}: {error}")


def _namespace(function: Any) -> Mapping[str, Any]:
    """The names that the function's module has."""
    found = inspect.unwrap(function)
    if isinstance(found, partial):
        return _namespace(found.func)
    if inspect.ismethod(found):
        return _namespace(found.__func__)
    if not inspect.isfunction(found):  # an object that can be called
        found = inspect.unwrap(type(found).__call__)
    return getattr(found, "__globals__", {})


def members(annotation: Any) -> tuple[Any, ...]:
    """The kinds that an annotation names: `X | None` and `Optional[X]` have X and NoneType, `Annotated[X, …]` has X."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return members(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        return tuple(each for argument in get_args(annotation) for each in members(argument))
    return (annotation,)


def takes(annotation: Any, kind: type) -> bool:
    """Whether a parameter so annotated takes an object of this kind: anything, a base class, a protocol it keeps."""
    return annotation is EMPTY or any(_is_above(get_origin(each) or each, kind) for each in members(annotation))


def _is_above(wanted: Any, kind: type) -> bool:
    if wanted is Any:
        return True
    if getattr(wanted, "_is_protocol", False):
        return _declared(wanted) <= _names(kind)
    return isinstance(wanted, type) and wanted in kind.__mro__


def _declared(protocol: type) -> set[str]:
    bases = [each for each in protocol.__mro__ if getattr(each, "_is_protocol", False)]
    return {name for base in bases for name in _own(base) if not name.startswith("_")}


def _names(kind: type) -> set[str]:
    return {name for base in kind.__mro__ for name in _own(base)}


def _own(kind: type) -> set[str]:
    return {*vars(kind), *inspect.get_annotations(kind)}


def contradicts(annotation: Any, output_type: Any) -> bool:
    """Whether an output of this type is none of what the annotation says. Only plain classes can be told apart."""
    if isinstance(annotation, Unresolved):
        return False
    declared, given = members(annotation), members(output_type)
    if len(declared) != 1 or len(given) != 1 or not all(isinstance(each, type) for each in (*declared, *given)):
        return False
    wanted, kind = declared[0], given[0]
    if wanted in (EMPTY, Any) or kind is Any or wanted in _WIDER.get(kind, ()):
        return False
    try:
        return not issubclass(kind, wanted)
    except TypeError:  # a typed dict or a protocol: a class that refuses the question
        return False
