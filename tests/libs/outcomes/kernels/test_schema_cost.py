"""Schemas that could stall the validator are refused before they are used; those that people write are taken."""

import json
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from aex_outcomes.kernels.schema_cost import MAX_EVALUATIONS, components, is_too_complex
from aex_outcomes.kernels.schemas import InvalidSchema, compile_schema, conforms, schema_text
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
    """Definitions each of which is made of references to the next."""
    links = {f"d{level}": link({"$ref": f"#/$defs/d{level + 1}"}) for level in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": links | {f"d{levels}": {"type": "string"}}}


def ring(length: int) -> Json:
    """Definitions each of which leads twice to the next at the child `c`, the last to the first."""
    places = [{"$ref": f"#/$defs/d{(each + 1) % length}"} for each in range(length)]
    return {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{n}": TEXT | {"anyOf": [{"properties": {"c": to}}] * 2} for n, to in enumerate(places)},
    }


def net(size: int) -> Json:
    """Definitions all of which hold at the same place of the instance, each asking for all others."""
    places = [{"$ref": f"#/$defs/d{each}"} for each in range(size)]
    return {"$ref": "#/$defs/d0", "$defs": {f"d{n}": {"allOf": places[:n] + places[n + 1 :]} for n in range(size)}}


STALLING: dict[str, Json] = {
    "anyOf": chain(45, lambda to: {"anyOf": [to, to]}),
    "allOf": chain(45, lambda to: {"allOf": [to, to]}),
    "oneOf": chain(45, lambda to: {"oneOf": [to, to]}),
    "not": chain(45, lambda to: {"allOf": [{"not": to}, {"not": to}]}),
    "if": chain(45, lambda to: {"if": to, "then": to, "else": to}),
    "dependentSchemas": chain(45, lambda to: {"dependentSchemas": {"a": to, "b": to}}),
    "unevaluatedProperties": chain(45, lambda to: {"anyOf": [to], "unevaluatedProperties": False}),
    "by anchor": {
        "$ref": "#d0",
        "$defs": {
            f"x{n}": {"$anchor": f"d{n}", "anyOf": [{"$ref": f"#d{n + 1}"}] * 2 if n < 45 else [{"type": "string"}]}
            for n in range(46)
        },
    },
    "by address": {
        "$id": "https://example.org/a/",
        "$ref": "d0",
        "$defs": {
            f"x{n}": {"$id": f"d{n}", "anyOf": [{"$ref": f"d{n + 1}"}] * 2 if n < 45 else [{"type": "string"}]}
            for n in range(46)
        },
    },
    "dynamic": {
        "$dynamicRef": "#d0",
        "$defs": {
            f"x{n}": {"$dynamicAnchor": f"d{n}", "anyOf": [{"$dynamicRef": f"#d{n + 1}"}] * 2 if n < 45 else [True]}
            for n in range(46)
        },
    },
    "children": chain(45, lambda to: {"anyOf": [{"properties": {"c": to}}, {"properties": {"c": to}}]}),
    "items": chain(45, lambda to: {"items": {"anyOf": [to, to]}}),
    "two keywords for one child": chain(45, lambda to: {"properties": {"c": to}, "patternProperties": {"^c": to}}),
    "a ring through children": ring(45),
    "a net in place": net(8),
}


@pytest.mark.parametrize("name", STALLING)
def test_a_schema_that_could_stall_is_refused_at_once(name: str) -> None:
    text, started = schema_text(STALLING[name]), time.perf_counter()
    with pytest.raises(InvalidSchema, match="evaluations") as refused:
        compile_schema(text)
    assert (refused.value.path, refused.value.code) == ("", "schema_too_complex")
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize("link", [lambda to: {"anyOf": [to, to]}, lambda to: {"oneOf": [to, to]}])
def test_the_dearest_schema_that_is_taken_takes_no_second(link: Callable[[Json], Json]) -> None:
    levels = max(each for each in range(1, 30) if not is_too_complex(json.dumps(chain(each, link))))
    assert 10 < levels < 17
    validator, started = compile_schema(schema_text(chain(levels, link))), time.perf_counter()
    assert not conforms(validator, 5)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_dearest_ring_that_is_taken_takes_no_second(rounds: int) -> None:
    """Just before a round ends the validator remembers least."""
    length = max(each for each in range(1, 30) if not is_too_complex(json.dumps(ring(each))))
    assert length > 8
    instance: Any = 5
    for _ in range(rounds * length - 1):
        instance = {"c": instance}
    validator, started = compile_schema(schema_text(ring(length))), time.perf_counter()
    assert not conforms(validator, instance)
    assert time.perf_counter() - started < 2


def fhir_like() -> Json:
    """150 resources with 20 elements each, that contain one another and share extensible types."""
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


def openapi_like() -> Json:
    """300 models, each of whose 20 properties is one of three of the later models, or null."""
    models = {
        f"M{n}": {
            "type": "object",
            "properties": {
                f"p{k}": {"anyOf": [{"type": "null"}, {"$ref": f"#/components/schemas/M{(n // 60 + 1) * 60 + k}"}]}
                for k in range(20 if n < 240 else 0)
            },
        }
        for n in range(300)
    }
    return {"anyOf": [{"$ref": f"#/components/schemas/M{n}"} for n in range(60)], "components": {"schemas": models}}


def bundled_meta_schema() -> Json:
    root = META_SCHEMAS["draft202012/metaschema.json"]
    parts = {each["$ref"]: each["$ref"].replace("meta/", "draft202012/vocabularies/") for each in root["allOf"]}
    return {**root, "$defs": {part: META_SCHEMAS[file] for part, file in parts.items()}}


HONEST: dict[str, Json] = {
    "an expression tree": {
        "anyOf": [
            {"type": "number"},
            {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}},
        ]
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
    "a syntax tree of 40 kinds": {
        "$ref": "#/$defs/any",
        "$defs": {
            "any": {"oneOf": [{"$ref": f"#/$defs/k{n}"} for n in range(40)]},
            **{
                f"k{n}": {"properties": {"kind": {"const": n}, **{f"c{k}": {"$ref": "#/$defs/any"} for k in range(5)}}}
                for n in range(40)
            },
        },
    },
    "FHIR-like": fhir_like(),
    "OpenAPI-like": openapi_like(),
    "an enumeration of 2,000 alternatives": {"anyOf": [{"const": n} for n in range(2_000)]},
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
def test_a_schema_that_people_write_is_taken(name: str) -> None:
    compile_schema(schema_text(HONEST[name]))


@pytest.mark.parametrize("file", META_SCHEMAS)
def test_every_published_meta_schema_is_cheap_enough(file: str) -> None:
    assert not is_too_complex(json.dumps(META_SCHEMAS[file]))


def test_the_published_meta_schemas_are_there() -> None:
    assert len(META_SCHEMAS) == 20


@given(SCHEMAS)
def test_random_schemas_of_ordinary_size_are_taken(schema: Json) -> None:
    assert not is_too_complex(json.dumps(schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}]} for n in range(18_000)} | {"d18000": {}}},
        {"properties": {f"p{n}": {"anyOf": [{"type": "string"}, {"minimum": n}]} for n in range(14_000)}},
    ],
    ids=["a long chain", "a wide one"],
)
def test_counting_takes_time_linear_in_the_schemas_size(schema: Json) -> None:
    text = json.dumps({"$ref": "#/$defs/d0"} | schema if "$defs" in schema else schema)
    assert 700_000 < len(text) < 1_100_000
    started = time.perf_counter()
    assert not is_too_complex(text)
    assert time.perf_counter() - started < 30  # quadratic: minutes


def test_a_schema_dearer_than_the_limit_by_breadth_alone_is_refused() -> None:
    parts: Json = {"b": {"anyOf": [{"minimum": n} for n in range(400)]}}
    parts["a"] = {"anyOf": [{"$ref": "#/$defs/b"}] * (MAX_EVALUATIONS // 400 + 1)}
    assert is_too_complex(json.dumps({"$ref": "#/$defs/a", "$defs": parts}))


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
    text, started = (
        json.dumps({"$defs": {f"d{n}": named for n in range(8_000)}, "items": [reference] * 8_000}),
        time.perf_counter(),
    )
    assert is_too_complex(text)
    assert time.perf_counter() - started < 10


def test_components_come_after_those_they_lead_to() -> None:
    assert components([[1], [2, 3], [1], [4], []]) == [[4], [3], [2, 1], [0]]
