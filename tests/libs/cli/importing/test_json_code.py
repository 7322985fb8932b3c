import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_cli.importing.checks import NotTranslatable, make_code_check
from aex_cli.importing.json_code import build_is_json_code, build_schema_code, parse_schema
from tests.libs.cli.importing.grading import passes

SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 1.5, -2, 10**20, "", "a", "abc", "é😀"])
VALUES = st.recursive(
    SCALARS,
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from("abc"), each, max_size=3),
    max_leaves=5,
)
SIZES = st.integers(0, 2)


def schemas_over(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=2)
    types = st.sampled_from(["null", "boolean", "string", "array", "object", "number", "integer"])
    return st.fixed_dictionaries(
        {},
        optional={
            "type": types | st.lists(types, min_size=1, max_size=2, unique=True), "const": VALUES,
            "enum": st.lists(VALUES, min_size=1, max_size=2), "minimum": SIZES, "exclusiveMaximum": SIZES,
            "maxLength": SIZES, "minItems": SIZES, "maxProperties": SIZES, "items": inner, "not": inner,
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2), "allOf": several, "anyOf": several,
            "oneOf": several, "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": inner,
        },
    )  # fmt: skip


SCHEMAS = st.recursive(st.booleans() | schemas_over(st.booleans()), schemas_over, max_leaves=4)


def run(code: str, text: str) -> Any:
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 the code of the importer itself, outside the sandbox
    return names["evaluate"]({}, {"text": text}, {})


@given(schema=SCHEMAS, value=VALUES)
def test_verdicts_equal_those_of_the_reference_validator(schema: Any, value: Any) -> None:
    expected = jsonschema.Draft7Validator(schema).is_valid(value)
    assert run(build_schema_code(schema, negated=False), json.dumps(value)) is expected
    assert run(build_schema_code(schema, negated=True), json.dumps(value)) is not expected


@given(value=VALUES, noise=st.sampled_from(["", " ", "\u00a0", ",", "}", "N", "\x00", '"']))
def test_json_texts_are_recognised(value: Any, noise: str) -> None:
    text = json.dumps(value) + noise
    try:
        json.loads(text)
        expected = True
    except ValueError:
        expected = False
    assert run(build_is_json_code(negated=False), text) is expected


@pytest.mark.slow
async def test_the_sandbox_runs_the_code() -> None:
    schema = {
        "type": "object", "required": ["name"], "additionalProperties": False,
        "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": ["integer", "null"], "minimum": 0}},
    }  # fmt: skip
    check = make_code_check("c", build_schema_code(schema, negated=False))
    passing = ['{"name": "Ada", "age": 36.0}', ' {"name": "é", "age": null} ']
    failing = ["", "Ada", '{"name": ""}', '{"name": "a", "age": -1}', '{"name": "a", "x": 1}', '[{"name": "a"}]', "NaN"]
    assert [text for text in passing if not await passes(check, text)] == []
    assert [text for text in failing if await passes(check, text)] == []
    negated = make_code_check("c", build_schema_code(schema, negated=True))
    assert [await passes(negated, text) for text in ("no JSON", "{}", passing[0])] == [True, True, False]


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "a"}, {"format": "email"}, {"$ref": "#/definitions/a"}, {"if": True}, {"items": [True]}, 5, "a",
        {"multipleOf": 2}, {"uniqueItems": True}, {"type": "text"}, {"required": "a"}, {"properties": {"a": {"x": 1}}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema"}, {"anyOf": []}, {"minimum": "1"},
        {"not": {"format": 1}}, {"required": ["a", "a"]}, {"properties": {"toString": True}}, {"minLength": 0.5},
    ],
)  # fmt: skip
def test_schemas_with_other_keywords_are_not_translated(schema: Any) -> None:
    with pytest.raises(NotTranslatable) as raised:
        build_schema_code(schema, negated=False)
    assert raised.value.kind == "value"


def test_a_schema_may_be_a_text_of_json() -> None:
    assert parse_schema('{"type": "null"}') == {"type": "null"}
    with pytest.raises(NotTranslatable):
        parse_schema("type: null")
