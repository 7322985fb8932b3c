import json
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from aex_outcomes.kernels.schema_cost import MAX_EVALUATIONS, is_schema_too_complex, strongly_connected_components
from aex_outcomes.kernels.schemas import InvalidSchema, compile_schema, conforms_to_schema, serialize_schema
from tests.libs.outcomes.kernels.random_schemas import SCHEMAS

Json = dict[str, Any]
_PUBLISHED = Path(str(files("jsonschema_specifications"))) / "schemas"
META_SCHEMAS: dict[str, Json] = {
    str(each.relative_to(_PUBLISHED)): json.loads(each.read_text(encoding="utf-8"))
    for each in sorted(_PUBLISHED.rglob("*"))
    if each.is_file()
}
TEXT: Json = {"type": ["object", "string"]}


def chain(levels: int, link: Callable[[Json], Json]) -> Json:
    links = {f"d{level}": link({"$ref": f"#/$defs/d{level + 1}"}) for level in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": links | {f"d{levels}": {"type": "string"}}}


def ring(length: int) -> Json:
    positions = [{"$ref": f"#/$defs/d{(each + 1) % length}"} for each in range(length)]
    return {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{n}": TEXT | {"anyOf": [{"properties": {"c": to}}] * 2} for n, to in enumerate(positions)},
    }


def net(size: int) -> Json:
    positions = [{"$ref": f"#/$defs/d{each}"} for each in range(size)]
    return {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{n}": {"allOf": positions[:n] + positions[n + 1 :]} for n in range(size)},
    }


def addressed_chain(reference: str, keyword: str, prefix: str, **more: Any) -> Json:
    links = {
        f"x{n}": {
            keyword: f"{prefix.strip('#')}{n}",
            "anyOf": [{reference: f"{prefix}{n + 1}"}] * 2 if n < 45 else [{"type": "string"}],
        }
        for n in range(46)
    }
    return {**more, reference: f"{prefix}0", "$defs": links}


STALLING: dict[str, Json] = {
    "anyOf": chain(45, lambda to: {"anyOf": [to, to]}),
    "allOf": chain(45, lambda to: {"allOf": [to, to]}),
    "oneOf": chain(45, lambda to: {"oneOf": [to, to]}),
    "not": chain(45, lambda to: {"allOf": [{"not": to}, {"not": to}]}),
    "if": chain(45, lambda to: {"if": to, "then": to, "else": to}),
    "dependentSchemas": chain(45, lambda to: {"dependentSchemas": {"a": to, "b": to}}),
    "unevaluatedProperties": chain(45, lambda to: {"anyOf": [to], "unevaluatedProperties": False}),
    "by anchor": addressed_chain("$ref", "$anchor", "#d"),
    "by address": addressed_chain("$ref", "$id", "d", **{"$id": "https://example.org/a/"}),
    "dynamic": addressed_chain("$dynamicRef", "$dynamicAnchor", "#d"),
    "children": chain(45, lambda to: {"anyOf": [{"properties": {"c": to}}, {"properties": {"c": to}}]}),
    "items": chain(45, lambda to: {"items": {"anyOf": [to, to]}}),
    "two keywords for one child": chain(45, lambda to: {"properties": {"c": to}, "patternProperties": {"^c": to}}),
    "a ring through children": ring(45),
    "a net in place": net(8),
}


@pytest.mark.parametrize("name", STALLING)
def test_a_schema_that_could_stall_is_refused_at_once(name: str) -> None:
    text, started = serialize_schema(STALLING[name]), time.process_time()
    with pytest.raises(InvalidSchema, match="evaluations") as refused:
        compile_schema(text)
    assert (refused.value.path, refused.value.code) == ("", "schema_too_complex")
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "make",
    [
        lambda levels: chain(levels, lambda to: {"anyOf": [to, to]}),
        lambda levels: chain(levels, lambda to: {"oneOf": [to, to]}),
        ring,
    ],
)
@pytest.mark.parametrize("rounds", [1, 3])
def test_most_expensive_accepted_schema_takes_less_than_two_seconds(make: Callable[[int], Json], rounds: int) -> None:
    size = max(each for each in range(1, 30) if not is_schema_too_complex(json.dumps(make(each))))
    assert 8 < size < 17
    instance: Any = 5
    for _ in range(rounds * size - 1):
        instance = {"c": instance}
    validator, started = compile_schema(serialize_schema(make(size))), time.process_time()
    assert not conforms_to_schema(validator, 5)
    conforms_to_schema(validator, instance)
    assert time.process_time() - started < 2


def fhir_like() -> Json:
    types = {f"T{n}": {f"value{k}": {"$ref": f"#/$defs/T{k}"} for k in range(n)} for n in range(30)}
    for each in types.values():
        each["extension"] = {"$ref": "#/$defs/Extension"}
    resources = {
        f"R{n}": {f"e{k}": {"items": {"$ref": f"#/$defs/T{(n + k) % 30}"}} for k in range(20)}
        | {"contained": {"items": {"$ref": "#/$defs/Any"}}, "resourceType": {"const": f"R{n}"}}
        for n in range(150)
    }
    extension = {"extension": {"items": {"$ref": "#/$defs/Extension"}}, "value": {"$ref": "#/$defs/T29"}}
    kinds = {"Extension": extension} | types | resources
    definitions: Json = {name: {"properties": each, "additionalProperties": False} for name, each in kinds.items()}
    return {
        "$ref": "#/$defs/Any",
        "$defs": definitions | {"Any": {"oneOf": [{"$ref": f"#/$defs/{r}"} for r in resources]}},
    }


def bundled_meta_schema() -> Json:
    root = META_SCHEMAS["draft202012/metaschema.json"]
    parts = {each["$ref"]: each["$ref"].replace("meta/", "draft202012/vocabularies/") for each in root["allOf"]}
    return {**root, "$defs": {part: META_SCHEMAS[file] for part, file in parts.items()}}


HONEST: dict[str, Json] = {
    "an expression tree": {
        "anyOf": [{"type": "number"}, {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}]
    },
    "a closed tree": {
        "$ref": "#/$defs/node",
        "$defs": {
            "base": {"properties": {"id": {"type": "string"}}},
            "node": {
                "allOf": [{"$ref": "#/$defs/base"}],
                "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
                "unevaluatedProperties": False,
            },
        },
    },
    "FHIR-like": fhir_like(),
    "the bundled meta-schema": bundled_meta_schema(),
    "the published meta-schema": {"properties": {"a": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}},
    "an address that is data": {
        "const": {"$id": "#x", "$ref": "#/nowhere"},
        "properties": {"$ref": {"type": "string"}},
    },
    "draft 4 with ids": {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "id": "http://example.org/root.json",
        "properties": {"a": {"$ref": "item.json"}, "b": {"$ref": "#/definitions/i"}, "c": {"$ref": "#named"}},
        "definitions": {"i": {"id": "item.json", "type": "string"}, "n": {"id": "#named", "type": "null"}},
    },
    "an escaped place": {"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "string"}}},
    "addresses without hierarchy": {
        "$id": "urn:example:root",
        "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "urn:example:x"}},
        "$defs": {"x": {"$id": "urn:example:x", "type": "string"}},
    },
}


@pytest.mark.parametrize("name", HONEST)
def test_usual_schema_is_accepted(name: str) -> None:
    compile_schema(serialize_schema(HONEST[name]))


def test_published_meta_schemas_are_accepted() -> None:
    assert len(META_SCHEMAS) == 20
    assert [name for name, each in META_SCHEMAS.items() if is_schema_too_complex(json.dumps(each))] == []


@given(SCHEMAS)
def test_random_schemas_of_ordinary_size_are_taken(schema: Json) -> None:
    assert not is_schema_too_complex(json.dumps(schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}]} for n in range(6_000)} | {"d6000": {}}},
        {"properties": {f"p{n}": {"anyOf": [{"type": "string"}, {"minimum": n}]} for n in range(5_000)}},
    ],
    ids=["a long chain", "a wide one"],
)
def test_counting_takes_time_linear_in_the_schemas_size(schema: Json) -> None:
    text = json.dumps({"$ref": "#/$defs/d0"} | schema if "$defs" in schema else schema)
    assert len(text) > 200_000
    started = time.process_time()
    assert not is_schema_too_complex(text)
    assert time.process_time() - started < 10  # quadratic: a minute


def test_a_schema_dearer_than_the_limit_by_breadth_alone_is_refused() -> None:
    parts: Json = {"b": {"anyOf": [{"minimum": n} for n in range(400)]}}
    parts["a"] = {"anyOf": [{"$ref": "#/$defs/b"}] * (MAX_EVALUATIONS // 400 + 1)}
    assert is_schema_too_complex(json.dumps({"$ref": "#/$defs/a", "$defs": parts}))


@pytest.mark.parametrize(
    ("named", "reference"),
    [
        ({"$dynamicAnchor": "a"}, {"$dynamicRef": "#a"}),
        ({"$anchor": "a"}, {"$ref": "#a"}),
        ({"$id": "a"}, {"$ref": "a"}),
        ({"$id": "a", "$defs": {"b": {}}}, {"$ref": "a#/$defs/b"}),
    ],
    ids=["dynamic", "anchor", "address", "place"],
)
def test_many_subschemas_of_one_address_and_many_references_to_it_are_refused_soon(
    named: Json, reference: Json
) -> None:
    text = json.dumps({"$defs": {f"d{n}": named for n in range(4_000)}, "items": [reference] * 4_000})
    started = time.process_time()
    assert is_schema_too_complex(text)
    assert time.process_time() - started < 10


def test_components_come_after_those_they_lead_to() -> None:
    assert strongly_connected_components([[1], [2, 3], [1], [4], []]) == [[4], [3], [2, 1], [0]]


@pytest.mark.parametrize("schema", [True, False, {}])
def test_schemas_without_subschemas_are_never_too_complex(schema: Any) -> None:
    assert not is_schema_too_complex(json.dumps(schema))
