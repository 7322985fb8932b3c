import math
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aex_outcomes.kernels.schemas import (
    InvalidInstance,
    InvalidSchema,
    compile_schema,
    conforms_to_schema,
    serialize_schema,
)


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "https://example.org/s.json", "//host/x", "other.json", "#/nope"]
)
def test_references_to_outside_are_refused(keyword: str, target: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        compile_schema(serialize_schema({"properties": {"a": {keyword: target}}}))
    assert target not in str(refused.value)


def test_no_reference_is_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        with pytest.raises(InvalidSchema):
            compile_schema(serialize_schema({"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"}))
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    ("schema", "path", "code"),
    [
        ({"type": "nope-hush"}, "/type", "invalid_schema"),
        ({"properties": {"a/b": {"minimum": "hush"}}}, "/properties/a~1b/minimum", "invalid_schema"),
        ({"items": {"pattern": "(?=hush)"}}, "/items/pattern", "invalid_pattern"),
        ({"$schema": "http://hush.example/meta"}, "", "unresolvable_ref"),
    ],
)
def test_a_bad_schema_is_refused_with_its_path_and_without_quoting_it(
    schema: dict[str, Any], path: str, code: str
) -> None:
    with pytest.raises(InvalidSchema) as refused:
        compile_schema(serialize_schema(schema))
    assert (refused.value.path, refused.value.code) == (path, code)
    assert "hush" not in str(refused.value)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize(
    "schema", [nested(200), nested(100_000), {"const": "\ud800"}, {"description": "x" * 1_000_001}], ids=type
)
def test_deep_huge_or_invalid_schema_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchema):
        compile_schema(serialize_schema(schema))


def test_instances_that_are_no_json_are_refused_and_never_end_the_process() -> None:
    schema = compile_schema(serialize_schema({"$defs": {"t": {"items": {"$ref": "#/$defs/t"}}}, "$ref": "#/$defs/t"}))
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    for instance in (deep, {1: object()}, "\ud800"):
        with pytest.raises(InvalidInstance):
            conforms_to_schema(schema, instance)


@pytest.mark.parametrize(
    "bad", [math.nan, -math.nan, math.inf, -math.inf, *struct.unpack("<d", b"\1\0\0\0\0\0\xf4\x7f")]
)
@pytest.mark.parametrize("wrap", [lambda bad: bad, lambda bad: [bad, bad], lambda bad: {"a": [1, bad]}])
def test_what_is_not_finite_is_no_json_and_never_null(bad: float, wrap: Callable[[float], Any]) -> None:
    schema = compile_schema(serialize_schema({"anyOf": [{"type": "null"}, True]}))
    with pytest.raises(InvalidInstance):
        conforms_to_schema(schema, wrap(bad))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70) | st.text(), max_size=5)
)
@example(["gabcdef\U000fffff\x7f"])
@example(["gabcde", -1, 2**60 - 1, float.fromhex("0x1.ffp1023")])
def test_finite_values_of_any_bytes_are_json(values: list[Any]) -> None:
    assert conforms_to_schema(compile_schema(serialize_schema({"items": {"type": ["number", "string"]}})), values)


def test_endless_reference_conforms_and_division_beyond_doubles_is_exact() -> None:
    assert conforms_to_schema(compile_schema(serialize_schema({"$ref": "#"})), {"a": 1})
    schema = compile_schema(serialize_schema({"multipleOf": 0.5}))
    assert conforms_to_schema(schema, 10**400)
    assert not conforms_to_schema(compile_schema(serialize_schema({"multipleOf": 1.5})), 10**400)
    assert not conforms_to_schema(compile_schema(serialize_schema({"multipleOf": 10**400})), 1.5)
