"""Rows of the reference: fields of models with type, default, unit and the sentence below the field."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import PurePath
from types import ModuleType
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from aex_models.frozen import read_attribute_docstrings

NONE = "–"
_UNITS = {
    "_per_s": "1/s",
    "_ms": "ms",
    "_s": "s",
    "_ttl": "s",
    "_mb": "MB",
    "_bytes": "bytes",
    "_days": "days",
    "_chars": "characters",
    "_tokens": "tokens",
    "_length": "characters",
    "_characters": "characters",
    "_rate": "fraction",
    "_ratio": "fraction",
    "_share": "fraction",
}
"""Units by the end of a name; the first that fits counts."""

_LISTED = {
    "MetricType": "[metric type](#metric-types)",
    "ComparisonOperator": "[comparison](#comparisons)",
    "Statistic": "[statistic](#statistics)",
    "FilterOp": "[filter](#filters-of-rows)",
}
"""Enumerations with a section of their own, by class."""


class DescriptionMissing(Exception):
    """A name in the code without a sentence; the message says where to add it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A name with its type, default, unit and meaning, as text."""

    name: str
    type: str
    default: str
    unit: str
    meaning: str


def sentence(text: str | None, owner: str) -> str:
    """Return the first paragraph on one line. Raises `DescriptionMissing` for none."""
    first = " ".join((text or "").partition("\n\n")[0].split())
    if not first:
        raise DescriptionMissing(f"{owner} has no description: add a docstring below it")
    return first if first.endswith(".") else f"{first}."


def unit_of(name: str, type_: str) -> str:
    """Return the unit of a number by its name; a dash for other values and for plain counts."""
    if type_ == "amount":
        return "currency"
    if "number" not in type_ and "seconds" not in type_:
        return NONE
    return next((unit for end, unit in _UNITS.items() if f"_{name}".endswith(end)), NONE)


def default_of(field: FieldInfo) -> str:
    """Return the default as it is written in a file; `required` without one."""
    return "required" if field.is_required() else format_value(field.get_default(call_default_factory=True))


def format_value(value: Any) -> str:
    """Return a value as code, in the spelling of JSON and YAML; a dash for null and for a whole section."""
    match value:
        case None | BaseModel():
            return NONE
        case bool():
            return f"`{str(value).lower()}`"
        case Enum():
            return f"`{value.value}`"
        case PurePath() | str() | int() | float():
            return f"`{value}`" if str(value) else NONE
        case Mapping():
            return "`{}`" if not value else ", ".join(f"`{name}`" for name in value)
        case tuple() | list() | frozenset():
            return "`[]`" if not value else ", ".join(map(format_value, value))
    return f"`{value}`"


def walk_fields(model: type[BaseModel], prefix: str = "") -> Iterator[Row]:
    """Yield a row for each key of a document, with the keys of nested models below them."""
    schema = model.model_json_schema()
    docs = read_attribute_docstrings(model)
    for name, field in model.model_fields.items():
        key = field.alias or name
        shape = schema["properties"][key]
        type_ = type_text(shape, schema.get("$defs", {}))
        meaning = sentence(docs.get(name), f"{model.__module__}.{model.__name__}.{name}")
        yield Row(f"{prefix}{key}", type_, default_of(field), unit_of(key, type_), meaning)
        for nested, mark in _nested_models(field.annotation):
            yield from walk_fields(nested, f"{prefix}{key}{mark}.")


def _nested_models(annotation: Any, mark: str = "") -> Iterator[tuple[type[BaseModel], str]]:
    """Yield the models in an annotation, each with the mark of lists (`[]`) and mappings (`.NAME`)."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, mark
        return
    origin, arguments = getattr(annotation, "__origin__", None), getattr(annotation, "__args__", ())
    own = ".NAME" if origin in {dict, Mapping} else "[]" if origin in {tuple, list, frozenset} else ""
    for each in arguments[1:] if own == ".NAME" else arguments:
        yield from _nested_models(each, mark + own)


def walk_enums(model: type[BaseModel]) -> Iterator[tuple[str, type[Enum]]]:
    """Yield the enumerations of a model's keys and of nested ones, each with the last part of its key."""
    for name, field in model.model_fields.items():
        yield from _enums_in(field.alias or name, field.annotation)


def _enums_in(key: str, annotation: Any) -> Iterator[tuple[str, type[Enum]]]:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        yield key, annotation
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from walk_enums(annotation)
    for each in getattr(annotation, "__args__", ()):
        yield from _enums_in(key, each)


def type_text(shape: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return a JSON Schema's type in words."""
    if "$ref" in shape:
        name = shape["$ref"].rpartition("/")[2]
        return _LISTED.get(name) or type_text(definitions[name], definitions)
    if "anyOf" in shape:
        decimal = next((each for each in shape["anyOf"] if "multipleOf" in each), None)
        if decimal is not None:
            return "amount" if decimal["maximum"] > 1 else "number" + _bounds(decimal)
        found = [type_text(each, definitions) for each in shape["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(found))
    values = shape.get("enum", [shape["const"]] if "const" in shape else None)
    if values:
        return ", ".join(f"`{each}`" for each in values)
    match shape.get("type"):
        case "array":
            return f"list of {type_text(shape.get('items', {}), definitions)}"
        case "object":
            inner = shape.get("additionalProperties")
            return f"mapping to {type_text(inner, definitions)}" if isinstance(inner, Mapping) and inner else "mapping"
        case "boolean":
            return "true or false"
        case "integer" | "number" as kind:
            return ("whole number" if kind == "integer" else "number") + _bounds(shape)
        case "string":
            return {"path": "path", "password": "secret text", "decimal": "amount"}.get(shape.get("format", ""), "text")
    return "any value"


def _bounds(shape: Mapping[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    found = [f"{sign} {_number(shape[name])}" for name, sign in signs.items() if name in shape]
    return f" {', '.join(found)}" if found else ""


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


@cache
def _texts_below(source: str) -> Mapping[str, str]:
    """Return the docstring below each assignment of a body of code by its target."""
    body = ast.parse(source).body
    body = body[0].body if len(body) == 1 and isinstance(body[0], ast.ClassDef) else body
    return {
        assigned.targets[0].id: text.value.value
        for assigned, text in pairwise(body)
        if isinstance(assigned, ast.Assign) and isinstance(assigned.targets[0], ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def is_listed(kind: type[Enum]) -> bool:
    """Return whether the enumeration has a section of its own."""
    return kind.__name__ in _LISTED


def describe_members(kind: type[Enum]) -> dict[str, str]:
    """Return the sentence of each value of an enumeration."""
    texts = _texts_below(inspect.getsource(kind))
    owner = f"{kind.__module__}.{kind.__name__}"
    return {str(each.value): sentence(texts.get(each.name), f"{owner}.{each.name}") for each in kind}


def describe_constants(module: ModuleType, values: tuple[str, ...]) -> dict[str, str]:
    """Return the sentence below the constant of a module with each value."""
    texts = _texts_below(inspect.getsource(module)) if module.__spec__ else {}
    names = {getattr(module, name): name for name in texts if isinstance(getattr(module, name, None), str)}
    return {each: sentence(texts.get(names.get(each, "")), f"{module.__name__}: {each!r}") for each in values}
