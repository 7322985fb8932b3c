"""Code of custom metrics that reads a delivered text as JSON, as JavaScript and its validator Ajv do.

The schema is of draft 7. Keywords of which Ajv and this code could differ are not supported.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.sandbox_code import assemble_code
from aex_models.numbers import is_finite_number

_IS_JSON = r"""
import json
import re


def is_json(text):
    if text.startswith("\ufeff"):
        return False
    # JSON.parse takes lone surrogates and numbers of any length, and no NaN or Infinity.
    plain = re.sub(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"', '""', text)
    plain = re.sub(r"([0-9])[0-9]{17,}", r"\g<1>1", plain)
    if "N" in plain or "I" in plain:
        return False
    try:
        json.loads(plain)
    except ValueError:
        return False
    return True
"""
_CONFORMS = """
def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def to_double(value):
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def is_finite(value):
    return is_number(value) and abs(to_double(value)) != float("inf")


def is_type(value, name):
    if name == "number":
        return is_finite(value)
    if name == "integer":
        return is_finite(value) and to_double(value) % 1 == 0
    kinds = {"null": type(None), "boolean": bool, "string": str, "array": list, "object": dict}
    return isinstance(value, kinds[name])


def is_equal(left, right):
    if is_number(left) and is_number(right):
        return to_double(left) == to_double(right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all([is_equal(left[index], right[index]) for index in range(len(left))])
    if isinstance(left, dict) and isinstance(right, dict):
        return set(left) == set(right) and all([is_equal(left[key], right[key]) for key in left])
    return type(left) == type(right) and left == right


def is_within(number, schema, low, high, above, below):
    if low in schema and number < schema[low] or high in schema and number > schema[high]:
        return False
    return not (above in schema and number <= schema[above] or below in schema and number >= schema[below])


def is_sized(size, schema, low, high):
    return is_within(size, schema, low, high, "", "")


def conforms_object(value, schema):
    if not is_sized(len(value), schema, "minProperties", "maxProperties"):
        return False
    if not all([key in value for key in schema.get("required", [])]):
        return False
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    return all([conforms(value[key], known[key] if key in known else others) for key in value])


def conforms(value, schema):
    if isinstance(schema, bool):
        return schema
    kinds = schema.get("type", [])
    if kinds and not any([is_type(value, each) for each in (kinds if isinstance(kinds, list) else [kinds])]):
        return False
    if "const" in schema and not is_equal(value, schema["const"]):
        return False
    if "enum" in schema and not any([is_equal(value, each) for each in schema["enum"]]):
        return False
    if is_finite(value) and not is_within(
        to_double(value), schema, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"
    ):
        return False
    if isinstance(value, str) and not is_sized(len(value), schema, "minLength", "maxLength"):
        return False
    if isinstance(value, list):
        items = schema.get("items", True)
        if not is_sized(len(value), schema, "minItems", "maxItems"):
            return False
        if not all([conforms(each, items) for each in value]):
            return False
    if isinstance(value, dict) and not conforms_object(value, schema):
        return False
    if not all([conforms(value, each) for each in schema.get("allOf", [])]):
        return False
    if "anyOf" in schema and not any([conforms(value, each) for each in schema["anyOf"]]):
        return False
    if "oneOf" in schema and sum([conforms(value, each) for each in schema["oneOf"]]) != 1:
        return False
    return not ("not" in schema and conforms(value, schema["not"]))


def is_conforming_json(text, schema):
    # A lone surrogate or a number of thousands of digits raises below, and leaves the outcome open.
    return is_json(text) and conforms(json.loads(text), schema)
"""
_TYPES = frozenset({"null", "boolean", "string", "array", "object", "number", "integer"})
_ANNOTATIONS = frozenset({"title", "description", "examples", "default", "$comment"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_SIZES = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_INHERITED = frozenset(
    {
        "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString",
        "valueOf",
    }
)  # fmt: skip
"""Names that every object of JavaScript has, beside those that begin with two underscores: Ajv finds them."""
_DRAFT_7 = "http://json-schema.org/draft-07/schema"


def build_is_json_code(*, negated: bool) -> str:
    """Return code that checks whether JavaScript's `JSON.parse` accepts the text."""
    return assemble_code(_IS_JSON, "not is_json(text)" if negated else "is_json(text)")


def build_schema_code(schema: Any, *, negated: bool) -> str:
    """Return code that checks whether the text is JSON that conforms to a schema.

    Raises `NotTranslatable` for a schema with other keywords than those of the code.
    """
    for problem in _find_unsupported(schema):
        raise NotTranslatable("value", f"the JSON schema has {problem}: let the agent deliver JSON, use output_schema")
    result = f"{'not ' if negated else ''}is_conforming_json(text, {schema!r})"
    return assemble_code(f"{_IS_JSON.strip()}\n\n{_CONFORMS}", result)


def _find_unsupported(schema: Any) -> Iterator[str]:
    """Yield what the code cannot check, or what Ajv refuses."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield "a subschema that is no object"
        return
    for keyword, value in schema.items():
        if not _has_supported_value(keyword, value):
            yield f"the keyword {keyword}"
        elif keyword in _LISTS:
            for each in value:
                yield from _find_unsupported(each)
        elif keyword == "properties":
            for each in value.values():
                yield from _find_unsupported(each)
        elif keyword in {"items", "additionalProperties", "not"}:
            yield from _find_unsupported(value)


def _has_supported_value(keyword: str, value: Any) -> bool:
    match keyword:
        case "type":
            listed = value if isinstance(value, list) else [value]
            return bool(listed) and _are_distinct_texts(listed) and _TYPES.issuperset(listed)
        case "enum":
            return isinstance(value, list) and bool(value)
        case "required":
            return isinstance(value, list) and _are_distinct_texts(value) and not any(map(_is_inherited, value))
        case "properties":
            return isinstance(value, Mapping) and not any(map(_is_inherited, value))
        case "$schema":
            return isinstance(value, str) and value.removesuffix("#") == _DRAFT_7
    if keyword in _LISTS:
        return isinstance(value, list) and bool(value)
    if keyword in _SIZES:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if keyword in _NUMBERS:
        return is_finite_number(value)
    return keyword in _ANNOTATIONS or keyword in {"const", "items", "additionalProperties", "not"}


def _are_distinct_texts(values: list[Any]) -> bool:
    return all(isinstance(each, str) for each in values) and len(set(values)) == len(values)


def _is_inherited(name: str) -> bool:
    return name in _INHERITED or name.startswith("__")


def parse_schema(text: str) -> Any:
    """Return a schema that is written as JSON text. Raises `NotTranslatable`."""
    try:
        return json.loads(text)
    except ValueError:
        raise NotTranslatable("value", "the JSON schema is a text, but no JSON: write it as an object") from None
