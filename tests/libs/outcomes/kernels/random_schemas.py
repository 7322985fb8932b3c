"""Random schemas of draft 2020-12 that jsonschema takes, and instances that they are about."""

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "ab", "", "é"])
COUNTS = st.sampled_from([0, 1, 2, 1.0])
NUMBERS = [0, 1, 2, 3, -1, 1.0, -0.0, 0.5, 1.5, 0.3, 4.35, 1e17, 2**53, float(2**53), 2**53 + 1, 1e300]
SCALARS = st.one_of(
    st.none(), st.booleans(), st.sampled_from(NUMBERS), st.sampled_from(["", "a", "ab", "b", "é", "e\u0301", "😀"])
)
INSTANCES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
PATTERNS = st.sampled_from(["^a", "b", "a|b", "[ab]", "x*", "^.b", "é", "^(a+)+$"])
"""Patterns that mean the same in Python and in ECMA-262."""
TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"]
POSITIONS = st.sampled_from(["#/$defs/a", "#/$defs/b", "#here", "#dynamic"])
"""References without a cycle to themselves, on which jsonschema would not end."""


def _keywords(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    several, named = st.lists(inner, min_size=1, max_size=2), st.dictionaries(NAMES, inner, max_size=2)
    return {
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        "const": INSTANCES,
        "enum": st.lists(INSTANCES, min_size=1, max_size=3),
        **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], st.sampled_from(NUMBERS)),
        "multipleOf": st.sampled_from([each for each in NUMBERS if each > 0] + [0.1, 0.01, 0.0001, 5e-324]),
        **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"], COUNTS),
        **dict.fromkeys(["minContains", "maxContains"], COUNTS),
        "pattern": PATTERNS,
        "uniqueItems": st.booleans(),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], several),
        **dict.fromkeys(["not", "if", "then", "else", "items", "contains", "propertyNames"], inner),
        **dict.fromkeys(["additionalProperties", "unevaluatedProperties", "unevaluatedItems"], inner),
        **dict.fromkeys(["properties", "dependentSchemas"], named),
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        "dependencies": st.dictionaries(NAMES, st.lists(NAMES, max_size=1), max_size=1),
        "format": st.just("ipv4"),
        "unknown": INSTANCES,
    }


def _schemas(inner: st.SearchStrategy[Any], *, references: bool) -> st.SearchStrategy[dict[str, Any]]:
    keywords = _keywords(inner) | (dict.fromkeys(["$ref", "$dynamicRef"], POSITIONS) if references else {})
    chosen = st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: keywords[name] for name in names}))


_LEAVES = st.booleans() | _schemas(st.booleans(), references=False)
_PLAIN = st.recursive(_LEAVES, lambda inner: _schemas(inner, references=False), max_leaves=3)
_REFERRING = st.recursive(
    _LEAVES | POSITIONS.map(lambda place: {"$ref": place}), lambda inner: _schemas(inner, references=True), max_leaves=4
)


def _with_definitions(parts: tuple[dict[str, Any], Any, Any, dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    root, a, b, here, dynamic = parts
    definitions = {"a": a, "b": b, "c": here | {"$anchor": "here"}, "d": dynamic | {"$dynamicAnchor": "dynamic"}}
    return root | {"$defs": definitions}


_OBJECTS = _schemas(_LEAVES, references=False)
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    _schemas(_PLAIN, references=False),
    st.tuples(_schemas(_REFERRING, references=True), _PLAIN, _PLAIN, _OBJECTS, _OBJECTS).map(_with_definitions),
)
