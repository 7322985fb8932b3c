"""JSON Schemas: the same verdicts as jsonschema, and nothing is ever fetched."""

import math
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referencing import Registry

from aex_models.numbers import JsonFloat
from aex_outcomes.kernels.schemas import InvalidSchema, NotJson, compile_schema, conforms, schema_text

SCHEMAS: list[dict[str, Any]] = [
    {},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "minimum": 0}}},
    {"type": "array", "items": {"type": ["string", "null"]}, "maxItems": 3, "uniqueItems": True},
    {"anyOf": [{"const": 1}, {"enum": ["a", None, True]}, {"type": "number", "exclusiveMaximum": 0}]},
    {"type": "object", "additionalProperties": False, "patternProperties": {"^a": {"type": "boolean"}}},
    {"type": "object", "propertyNames": {"maxLength": 1}, "minProperties": 1},
    {"if": {"type": "object"}, "then": {"required": ["a"]}, "else": {"type": "number", "multipleOf": 2}},
    {"not": {"type": "string"}},
    {"$defs": {"t": {"type": ["array", "integer"], "items": {"$ref": "#/$defs/t"}}}, "$ref": "#/$defs/t"},
    {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}, "contains": {"const": "a"}},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}], "additionalItems": False},
    {"type": "string", "pattern": "^a+$", "minLength": 2},
    {"type": "string", "format": "ipv4"},
    {"dependentRequired": {"a": ["b"]}, "unevaluatedProperties": False, "properties": {"a": True, "b": True}},
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-4, 4)
    | st.sampled_from([0.5, -0.0, 2.0])
    | st.sampled_from(["", "a", "aa", "b"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "ab"]), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(SCHEMAS), JSON)
def test_verdicts_are_those_of_jsonschema(schema: dict[str, Any], instance: Any) -> None:
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    expected = kind(schema, registry=Registry()).is_valid(instance)
    assert conforms(compile_schema(schema_text(schema)), instance) is expected


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "https://example.org/s.json", "//host/x", "other.json", "#/nope"]
)
def test_references_to_outside_are_refused(keyword: str, target: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        compile_schema(schema_text({"properties": {"a": {keyword: target}}}))
    assert target not in str(refused.value)


def test_no_reference_is_fetched() -> None:
    asked = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)

        def listen() -> None:
            try:
                server.accept()[0].close()
            except TimeoutError:
                return
            asked.set()

        listener = threading.Thread(target=listen)
        listener.start()
        with pytest.raises(InvalidSchema):
            compile_schema(schema_text({"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"}))
        listener.join()
    assert not asked.is_set()


@pytest.mark.parametrize(
    ("schema", "path", "code"),
    [
        ({"type": "nope-hush"}, "/type", "invalid_schema"),
        ({"properties": {"a/b": {"minimum": "hush"}}}, "/properties/a~1b/minimum", "invalid_schema"),
        ({"items": {"pattern": "(?=hush)"}}, "/items/pattern", "invalid_pattern"),
        ({"items": {"pattern": "(hush"}}, "/items/pattern", "invalid_pattern"),
        ({"$schema": "http://hush.example/meta"}, "", "unresolvable_ref"),
    ],
)
def test_a_bad_schema_is_refused_with_its_path_and_without_quoting_it(
    schema: dict[str, Any], path: str, code: str
) -> None:
    with pytest.raises(InvalidSchema) as refused:
        compile_schema(schema_text(schema))
    assert (refused.value.path, refused.value.code) == (path, code)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("depth", [200, 100_000])
def test_a_schema_nested_too_deeply_is_refused(depth: int) -> None:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"items": schema}
    with pytest.raises(InvalidSchema):
        compile_schema(schema_text(schema))


def test_a_schema_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(InvalidSchema):
        compile_schema(schema_text({"const": "\ud800"}))


def test_a_huge_schema_is_refused() -> None:
    with pytest.raises(InvalidSchema, match="characters"):
        compile_schema(schema_text({"description": "x" * 1_000_001}))


def test_a_schema_that_refers_to_itself_without_end_is_survived() -> None:
    assert conforms(compile_schema(schema_text({"$ref": "#"})), {"a": 1})


def test_numbers_that_keep_their_text_are_numbers() -> None:
    schema = compile_schema(schema_text({"properties": {"a": {"minimum": JsonFloat("0.50")}}}))
    assert conforms(schema, {"a": JsonFloat("0.5")})
    assert not conforms(schema, {"a": JsonFloat("0.4")})


def test_instances_that_are_no_json_are_refused_and_never_end_the_process() -> None:
    schema = compile_schema(schema_text({"$defs": {"t": {"items": {"$ref": "#/$defs/t"}}}, "$ref": "#/$defs/t"}))
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    for instance in (deep, {1: object()}, "\ud800"):
        with pytest.raises(NotJson):
            conforms(schema, instance)


def test_patterns_in_schemas_are_linear() -> None:
    schema = compile_schema(schema_text({"pattern": "^(a+)+$"}))
    started = time.perf_counter()
    assert not conforms(schema, "a" * 100_000 + "b")
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize(
    "bad", [math.nan, -math.nan, math.inf, -math.inf, *struct.unpack("<d", b"\1\0\0\0\0\0\xf4\x7f")]
)
@pytest.mark.parametrize("wrap", [lambda bad: bad, lambda bad: [bad, bad], lambda bad: {"a": [1, bad]}])
def test_what_is_not_finite_is_no_json_and_never_null(bad: float, wrap: Callable[[float], Any]) -> None:
    schema = compile_schema(schema_text({"anyOf": [{"type": "null"}, True]}))
    with pytest.raises(NotJson):
        conforms(schema, wrap(bad))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70) | st.text(), max_size=5)
)
def test_whatever_bytes_finite_values_have_they_are_json(values: list[Any]) -> None:
    assert conforms(compile_schema(schema_text({"items": {"type": ["number", "string"]}})), values)


@pytest.mark.parametrize(
    "lookalike", ["gabcdef\U000fffff\x7f", ["gabcde", -1, 2**60 - 1], [float.fromhex("0x1.ffp1023")]]
)
def test_values_whose_bytes_look_infinite_by_chance_are_taken(lookalike: Any) -> None:
    assert conforms(compile_schema(schema_text({"type": ["array", "string"]})), lookalike)


def test_a_division_beyond_all_doubles_is_exact_and_no_failure() -> None:
    schema = compile_schema(schema_text({"multipleOf": 0.5}))
    assert conforms(schema, 10**400)
    assert not conforms(compile_schema(schema_text({"multipleOf": 1.5})), 10**400)
    assert not conforms(compile_schema(schema_text({"multipleOf": 10**400})), 1.5)
