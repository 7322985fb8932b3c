from typing import Any

import pytest

from aex_models.schema_changes import find_breaking_changes

Schema = dict[str, Any]


def record(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def either(*options: Schema) -> Schema:
    return {"anyOf": list(options)}


TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
NULL: Schema = {"type": "null"}


@pytest.mark.parametrize(
    ("committed", "current"),
    [
        (record(a=TEXT), record(a=TEXT)),
        (record(a=TEXT), record(a=TEXT, b=TEXT)),
        (record(("a",), a=TEXT), record(a=TEXT)),
        (record(a=INTEGER), record(a=NUMBER)),
        (record(a=TEXT), record(a=either(TEXT, NULL))),
        (record(a=either(TEXT, NULL)), record(a=either(NULL, INTEGER, TEXT))),
        (record(a=TEXT), record(a={})),
        (record(a={"enum": ["x"]}), record(a={"enum": ["y", "x"]})),
        (record(a={"const": "x"}), record(a={"enum": ["y", "x"]})),
        (record(a={"enum": ["x"], "type": "string"}), record(a=TEXT)),
        (record(a={"type": "string", "maxLength": 5}), record(a={"type": "string", "maxLength": 6})),
        (record(a={"type": "string", "minLength": 5}), record(a={"type": "string", "minLength": 4})),
        (record(a={"type": "string", "pattern": "^a$"}), record(a=TEXT)),
        (record(a={"type": "array", "items": INTEGER}), record(a={"type": "array", "items": NUMBER})),
        ({"type": "object", "additionalProperties": False}, {"type": "object", "additionalProperties": TEXT}),
        ({"type": "string", "description": "old"}, {"type": "string", "description": "new"}),
        ({"type": ["string", "null"]}, either(NULL, TEXT)),
    ],
)
def test_compatible_change_is_accepted(committed: Schema, current: Schema) -> None:
    assert find_breaking_changes(committed, current) == []


@pytest.mark.parametrize(
    ("committed", "current", "breakage"),
    [
        (record(a=TEXT, b=TEXT), record(a=TEXT), "/b: removed"),
        (record(a=TEXT), record(("a",), a=TEXT), "/a: newly required"),
        (record(), record(("a",), a=TEXT), "/a: newly required"),
        (record(a=TEXT), record(a=NUMBER), "/a: type narrowed from string to number"),
        (record(a=NUMBER), record(a=INTEGER), "/a: type narrowed from number to integer"),
        (record(a={}), record(a=TEXT), "/a: type narrowed from any to string"),
        (record(a=either(TEXT, NULL)), record(a=TEXT), "/a: null is no longer allowed"),
        (record(a=either(TEXT, NUMBER, NULL)), record(a=either(TEXT, NULL)), "/a: number is no longer allowed"),
        (record(a={"enum": ["x", "y"]}), record(a={"enum": ["x"]}), "/a: values removed: 'y'"),
        (record(a={"const": "x"}), record(a={"const": "y"}), "/a: values removed: 'x'"),
        (record(a=TEXT), record(a={"type": "string", "enum": ["x"]}), "/a: values limited"),
        (record(a=TEXT), record(a={"type": "string", "maxLength": 5}), "/a: maxLength lowered"),
        (
            record(a={"type": "integer", "minimum": 0}),
            record(a={"type": "integer", "minimum": 1}),
            "/a: minimum raised",
        ),
        (record(a=TEXT), record(a={"type": "string", "pattern": "^a$"}), "/a: pattern changed"),
        (record(a=TEXT), record(a={"type": "string", "format": "date-time"}), "/a: format changed"),
        (
            record(a={"type": "array", "items": record(b=TEXT)}),
            record(a={"type": "array", "items": record()}),
            "/a/*/b: removed",
        ),
        (
            record(a={"type": "object", "additionalProperties": NUMBER}),
            record(a={"type": "object", "additionalProperties": INTEGER}),
            "/a/*: type narrowed from number to integer",
        ),
        (record(a={"type": "object"}), record(a={"type": "object", "additionalProperties": False}), "/a: closed"),
    ],
)
def test_breaking_change_is_named(committed: Schema, current: Schema, breakage: str) -> None:
    (found,) = find_breaking_changes(committed, current)
    assert found.startswith(breakage)


def test_references_are_followed_on_both_sides() -> None:
    committed = {"$ref": "#/$defs/A", "$defs": {"A": record(a={"$ref": "#/$defs/B"}), "B": record(b=TEXT)}}
    current = {"$ref": "#/$defs/C", "$defs": {"C": record(a={"$ref": "#/$defs/D"}), "D": record()}}
    assert find_breaking_changes(committed, current) == ["/a/b: removed"]
    assert find_breaking_changes(committed, {**record(a=record(b=TEXT))}) == []


def test_removed_field_of_an_optional_model_is_named() -> None:
    committed = record(a=either({"$ref": "#/$defs/A"}, NULL)) | {"$defs": {"A": record(b=TEXT) | {"title": "A"}}}
    current = record(a=either({"$ref": "#/$defs/A"}, NULL)) | {"$defs": {"A": record() | {"title": "A"}}}
    assert find_breaking_changes(committed, current) == ["/a/b: removed"]


def test_recursive_model_is_compared_once() -> None:
    def tree(**more: Schema) -> Schema:
        node = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Node"}, **more}}
        return {"$ref": "#/$defs/Node", "$defs": {"Node": node}}

    assert find_breaking_changes(tree(), tree()) == []
    assert find_breaking_changes(tree(b=TEXT), tree()) == ["/b: removed"]


def test_all_breaking_changes_are_named_at_once() -> None:
    committed = record(a=TEXT, b=record(c=TEXT, d=NUMBER))
    current = record(("z",), b=record(d=INTEGER), z=TEXT)
    assert sorted(find_breaking_changes(committed, current)) == [
        "/a: removed",
        "/b/c: removed",
        "/b/d: type narrowed from number to integer",
        "/z: newly required",
    ]
