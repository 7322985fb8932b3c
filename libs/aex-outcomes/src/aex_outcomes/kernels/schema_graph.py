"""Graph of a JSON Schema: which subschemas each one applies to its instance, or to children of that."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from aex_outcomes.json_values import MISSING, resolve_pointer

_APPLICATORS = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
_BY_NAME = frozenset({"dependentSchemas", "dependencies", "properties", "patternProperties"})
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_NO_SCHEMAS = ("const", "enum", "default", "examples")
_ROOT = "aex:/"
"""Address of a schema that gives none: relative `$id` and `$ref` are resolved against it."""
_PUBLISHED = ("http://json-schema.org/", "https://json-schema.org/")
"""Beginnings of the addresses of published meta-schemas."""
_MAX_TARGETS = 500_000
"""Maximum of targets of all references: many subschemas at one address and many references to it multiply."""

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subschema:
    """Node of the graph: numbers of the subschemas that a subschema applies, by what they apply to."""

    applicators: tuple[int, ...] = ()
    """Apply to the same instance by `allOf`, `not`, `if` and similar keywords."""
    references: tuple[tuple[int, ...], ...] = ()
    """Apply to the same instance by reference; each reference has one of its possible targets."""
    property_schemas: tuple[int, ...] = ()
    """Apply to properties, at most one to each: `properties`, `additionalProperties`."""
    pattern_schemas: tuple[int, ...] = ()
    """Apply to properties, possibly all to one: `patternProperties`, `unevaluatedProperties`."""
    item_schemas: tuple[int, ...] = ()
    """Apply to items, at most one to each: `prefixItems`, `items`."""
    contains_schemas: tuple[int, ...] = ()
    """Apply to each item: `contains`, `unevaluatedItems`."""
    name_schemas: tuple[int, ...] = ()
    """Apply to the names of the properties."""
    unevaluated: bool = False
    """True with `unevaluatedProperties` or `unevaluatedItems`, which depend on what other subschemas evaluated."""

    @property
    def same_instance_targets(self) -> tuple[int, ...]:
        """Return the numbers of the subschemas that this one may apply to its own instance."""
        return self.applicators + tuple(chain.from_iterable(self.references))

    @property
    def targets(self) -> tuple[int, ...]:
        """Return the numbers of all subschemas that this one leads to."""
        of_children = (self.property_schemas, self.pattern_schemas, self.item_schemas, self.contains_schemas)
        return (*self.same_instance_targets, *chain(*of_children), *self.name_schemas)


class Unresolvable(ValueError):
    """Error for a reference without a target."""


class TooManyTargets(ValueError):
    """Error for references that have more possible targets in total than the limit."""


class SchemaGraph:
    """Numbered list of the subschemas that a valid schema leads to; the schema itself is number 0."""

    def __init__(self, schema: Schema) -> None:
        draft = str(schema.get("$schema", ""))
        self._id = "id" if "draft-04" in draft or "draft-03" in draft else "$id"
        self._schema = schema
        self._at: dict[str, list[Schema]] = {}
        self._bases: dict[int, tuple[str, ...]] = {}
        self._dynamic: dict[str, list[Schema]] = {}
        self._numbers: dict[int, int] = {}
        self._reached: list[Schema] = []
        self._targets_left = _MAX_TARGETS
        self._index()
        self._number_of(schema)
        self.subschemas: list[Subschema] = []
        for each in self._reached:  # grows while it is read
            self.subschemas.append(self._subschema(each))

    def _number_of(self, schema: Schema) -> int:
        number = self._numbers.setdefault(id(schema), len(self._reached))
        if number == len(self._reached):
            self._reached.append(schema)
        return number

    def _numbers_in(self, values: Iterable[Any]) -> tuple[int, ...]:
        """Return the numbers of the schemas among the values, without `true` and `false`, which cost nothing."""
        return tuple(self._number_of(each) for each in values if isinstance(each, dict))

    def _numbers_of(self, schema: Schema, *keywords: str) -> tuple[int, ...]:
        present = (keyword for keyword in keywords if keyword in schema)
        return self._numbers_in(chain.from_iterable(_schemas_at(schema[keyword], keyword) for keyword in present))

    def _subschema(self, schema: Schema) -> Subschema:
        return Subschema(
            applicators=self._numbers_of(schema, *_APPLICATORS),
            references=tuple(filter(None, map(self._numbers_in, self._reference_targets(schema)))),
            property_schemas=self._numbers_of(schema, "properties", "additionalProperties"),
            pattern_schemas=self._numbers_of(schema, "patternProperties", "unevaluatedProperties"),
            item_schemas=self._numbers_of(schema, "prefixItems", "items", "additionalItems"),
            contains_schemas=self._numbers_of(schema, "contains", "unevaluatedItems"),
            name_schemas=self._numbers_of(schema, "propertyNames"),
            unevaluated=any(keyword in schema for keyword in _UNEVALUATED),
        )

    def _index(self) -> None:
        """Index the subschemas by address and anchor, and record the base addresses of each."""
        pending: list[tuple[Any, tuple[str, ...]]] = [(self._schema, (_ROOT,))]
        self._at[_ROOT] = [self._schema]
        while pending:
            value, bases = pending.pop()
            if isinstance(value, list):
                pending.extend((each, bases) for each in value)
            elif isinstance(value, dict):
                bases = self._index_addresses(value, bases)
                pending.extend((each, bases) for key, each in value.items() if key not in _NO_SCHEMAS)

    def _index_addresses(self, schema: Schema, bases: tuple[str, ...]) -> tuple[str, ...]:
        """Index a schema's own address and anchors, and return the base addresses for its content.

        There are two where drafts disagree on the meaning of `$id` beside `$ref`.
        """
        address = schema.get(self._id)
        if isinstance(address, str):
            own = tuple(_join_address(base, address) for base in bases[:1])
            for each in own:
                self._at.setdefault(each.removesuffix("#"), []).append(schema)
            if not address.startswith("#"):
                bases = (*own, bases[0]) if "$ref" in schema else own
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(keyword)
            if isinstance(anchor, str):
                for base in bases:
                    self._at.setdefault(f"{base}#{anchor}", []).append(schema)
                if keyword == "$dynamicAnchor":
                    self._dynamic.setdefault(anchor, []).append(schema)
        if schema.get("$recursiveAnchor") is True:
            self._dynamic.setdefault("", []).append(schema)
        self._bases[id(schema)] = bases
        return bases

    def _reference_targets(self, schema: Schema) -> Iterator[list[Any]]:
        """Yield the possible targets of each reference; a dynamic reference may have several."""
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = schema.get(keyword)
            if isinstance(reference, str):
                targets = self._targets(reference, self._bases.get(id(schema), (_ROOT,)))
                dynamic = [] if keyword == "$ref" else self._dynamic.get(urldefrag(reference).fragment, [])
                self._count_targets(len(dynamic))
                yield targets + dynamic

    def _count_targets(self, targets: int) -> None:
        self._targets_left -= targets
        if self._targets_left < 0:
            raise TooManyTargets

    def _targets(self, reference: str, bases: tuple[str, ...]) -> list[Any]:
        """Return the possible targets of a reference: several if an address occurs more than once."""
        found: dict[int, Any] = {}
        for base in bases:
            address = _join_address(base, reference)
            resource, fragment = urldefrag(address)
            self._count_targets(len(self._at.get(address.removesuffix("#"), ())) + len(self._at.get(resource, ())))
            found |= {id(each): each for each in self._at.get(address.removesuffix("#"), ())}
            if fragment.startswith("/"):
                for root in self._at.get(resource, ()):
                    target = resolve_pointer(root, unquote(fragment))
                    found |= {} if target is MISSING else {id(target): target}
            if not found and resource.startswith(_PUBLISHED):
                return []  # cheap: meta-schemas have no repeated references
        if not found:
            raise Unresolvable
        return list(found.values())


def _join_address(base: str, reference: str) -> str:
    if reference.startswith("#") or not reference:
        return urldefrag(base).url + reference
    if base.startswith("urn:"):
        return reference
    if base.startswith(_ROOT):  # urljoin knows no hierarchy in schemes of its own
        joined = urljoin("http://aex/" + base.removeprefix(_ROOT), reference)
        return _ROOT + joined.removeprefix("http://aex/") if joined.startswith("http://aex/") else joined
    return urljoin(base, reference)


def _schemas_at(value: Any, keyword: str) -> Iterable[Any]:
    if keyword in _BY_NAME:
        return value.values() if isinstance(value, dict) else ()
    return value if isinstance(value, list) else [value]
