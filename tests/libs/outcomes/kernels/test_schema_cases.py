"""The keywords of JSON Schema on our own cases, by hand: ours and jsonschema say what the case says."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry

from aex_models.numbers import JsonFloat
from aex_outcomes.kernels.schemas import compile_schema, conforms, schema_text
from tests.libs.outcomes.kernels.random_schemas import INSTANCES, SCHEMAS

CASES: list[dict[str, Any]] = [
    case | {"about": f"{path.stem}: {case['about']}"}
    for path in sorted((Path(__file__).parent / "schema_cases").glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))
]
WITH_INSTANCES = [
    pytest.param(case["schema"], instance, expected, id=f"{case['about']}-{name}-{position}")
    for case in CASES
    for name, expected in (("valid", True), ("invalid", False))
    for position, instance in enumerate(case[name])
]
REQUIRED = {
    "core": "$schema $id $anchor $ref $defs $dynamicRef $dynamicAnchor $vocabulary $comment",
    "applicator": """prefixItems items contains properties patternProperties additionalProperties propertyNames
        dependentSchemas if then else allOf anyOf oneOf not""",
    "unevaluated": "unevaluatedItems unevaluatedProperties",
    "validation": """type const enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength
        pattern maxItems minItems uniqueItems maxContains minContains maxProperties minProperties required
        dependentRequired""",
}
"""The keywords of the vocabularies that draft 2020-12 requires."""


def theirs(schema: dict[str, Any], instance: Any) -> bool:
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return bool(kind(schema, registry=Registry()).is_valid(instance))


def ours(schema: dict[str, Any], instance: Any) -> bool:
    return conforms(compile_schema(schema_text(schema)), instance)


def with_texts(value: Any) -> Any:
    """The value as services parse it: fractions that keep their text. It takes the slower way into the validator."""
    return json.loads(json.dumps(value), parse_float=JsonFloat)


@pytest.mark.parametrize(("schema", "instance", "expected"), WITH_INSTANCES)
def test_ours_and_jsonschema_say_what_the_case_says(schema: dict[str, Any], instance: Any, expected: bool) -> None:
    assert ours(schema, instance) is expected
    assert theirs(schema, instance) is expected
    assert ours(with_texts(schema), with_texts(instance)) is expected


@pytest.mark.parametrize("vocabulary", sorted(REQUIRED))
def test_every_required_keyword_has_a_case(vocabulary: str) -> None:
    written = json.dumps([case["schema"] for case in CASES])
    assert [keyword for keyword in REQUIRED[vocabulary].split() if f'"{keyword}": ' not in written] == []


@settings(max_examples=300)
@given(SCHEMAS, st.lists(INSTANCES, min_size=1, max_size=6))
def test_verdicts_on_random_schemas_are_those_of_jsonschema(schema: dict[str, Any], instances: list[Any]) -> None:
    validator = compile_schema(schema_text(schema))
    for instance in instances:
        assert conforms(validator, instance) is theirs(schema, instance), (schema, instance)


@pytest.mark.slow
@settings(max_examples=1_500, deadline=None)
@given(SCHEMAS, st.lists(INSTANCES, min_size=1, max_size=6))
def test_verdicts_on_thousands_of_random_schemas_are_those_of_jsonschema(
    schema: dict[str, Any], instances: list[Any]
) -> None:
    validator = compile_schema(schema_text(schema))
    for instance in instances:
        assert conforms(validator, instance) is theirs(schema, instance), (schema, instance)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"^\d+$", "١٢", False),
        (r"^\w+$", "é", False),
        ("^a$", "a\n", False),
        (r"^\s$", "\ufeff", True),
        (r"^\p{L}+$", "éß日", True),
    ],
)
def test_patterns_are_those_of_ecma_262_and_not_pythons(pattern: str, text: str, expected: bool) -> None:
    """The standard recommends them, and its published tests ask for them; jsonschema takes Python's."""
    assert ours({"pattern": pattern}, text) is expected


def test_a_repeated_list_is_a_repeat_though_a_boolean_stands_where_the_other_has_a_number() -> None:
    """The standard's verdict. jsonschema sorts first, and compares neighbours alone."""
    repeated = [[1], [True], [1]]
    assert theirs({"uniqueItems": True}, repeated)
    assert not ours({"uniqueItems": True}, repeated)


def test_a_schema_that_refers_to_nothing_it_needs_is_refused_before_anyone_relies_on_it() -> None:
    """jsonschema notices where an instance leads there; at submission that would be too late."""
    schema = {"anyOf": [True, {"$ref": "#/nowhere"}]}
    assert theirs(schema, 1)
    with pytest.raises(ValueError, match="outside the schema"):
        ours(schema, 1)
