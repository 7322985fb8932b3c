import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry

from aex_models.numbers import JsonFloat
from aex_outcomes.kernels.schemas import compile_schema, conforms_to_schema, serialize_schema
from tests.examples import examples
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


def reference(schema: dict[str, Any], instance: Any) -> bool:
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return bool(kind(schema, registry=Registry()).is_valid(instance))


def own(schema: dict[str, Any], instance: Any) -> bool:
    return conforms_to_schema(compile_schema(serialize_schema(schema)), instance)


def with_texts(value: Any) -> Any:
    return json.loads(json.dumps(value), parse_float=JsonFloat)


@pytest.mark.parametrize(("schema", "instance", "expected"), WITH_INSTANCES)
def test_verdict_equals_jsonschema_and_expected_result(schema: dict[str, Any], instance: Any, expected: bool) -> None:
    assert own(schema, instance) is expected
    assert reference(schema, instance) is expected
    assert own(with_texts(schema), with_texts(instance)) is expected


@pytest.mark.parametrize("vocabulary", sorted(REQUIRED))
def test_every_required_keyword_has_a_case(vocabulary: str) -> None:
    written = json.dumps([case["schema"] for case in CASES])
    assert [keyword for keyword in REQUIRED[vocabulary].split() if f'"{keyword}": ' not in written] == []


@settings(max_examples=examples(1_500), deadline=None)
@given(SCHEMAS, st.lists(INSTANCES, min_size=1, max_size=6))
def test_verdicts_on_random_schemas_equal_jsonschema(schema: dict[str, Any], instances: list[Any]) -> None:
    validator = compile_schema(serialize_schema(schema))
    for instance in instances:
        assert conforms_to_schema(validator, instance) is reference(schema, instance), (schema, instance)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"^\d+$", "١٢", False),
        ("^a$", "a\n", False),
        (r"^\s$", "\ufeff", True),
        (r"^\p{L}+$", "éß日", True),
    ],
)
def test_patterns_are_those_of_ecma_262_and_not_pythons(pattern: str, text: str, expected: bool) -> None:
    assert own({"pattern": pattern}, text) is expected


def test_a_repeated_list_is_a_repeat_though_a_boolean_stands_where_the_other_has_a_number() -> None:
    repeated = [[1], [True], [1]]
    assert reference({"uniqueItems": True}, repeated)
    assert not own({"uniqueItems": True}, repeated)


def test_a_schema_that_refers_to_nothing_it_needs_is_refused_before_anyone_relies_on_it() -> None:
    schema = {"anyOf": [True, {"$ref": "#/nowhere"}]}
    assert reference(schema, 1)
    with pytest.raises(ValueError, match="outside the schema"):
        own(schema, 1)
