"""Which subschemas a subschema is evaluated with: those at the same place of an instance, and those at its children."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from aex_outcomes.pointer import MISSING, resolve

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_NAMED = ("dependentSchemas", "dependencies")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_NO_SCHEMAS = ("const", "enum", "default", "examples")
_ROOT = "aex:/"
"""The address of a schema that has none: what `$id` and `$ref` without an address are relative to."""
_PUBLISHED = ("http://json-schema.org/", "https://json-schema.org/")
"""Where the meta-schemas are, of which the validator knows the one of the schema's own draft."""
_MAX_TARGETS = 500_000
"""A schema that gives many subschemas one address, and has many references to it, would have their product."""

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subschema:
    """One subschema. The groups of children are those that one child of the instance may meet."""

    applied: tuple[int, ...] = ()
    """At the same place: `allOf`, `not`, `if` and their like."""
    referred: tuple[tuple[int, ...], ...] = ()
    """At the same place, by reference: of each reference's possible targets one."""
    named: tuple[int, ...] = ()
    """One of them at most meets a property: `properties`, `additionalProperties`."""
    matched: tuple[int, ...] = ()
    """All may meet a property: `patternProperties`, `unevaluatedProperties`."""
    placed: tuple[int, ...] = ()
    """One of them at most meets an item: `prefixItems`, `items`."""
    counted: tuple[int, ...] = ()
    """All meet an item: `contains`, `unevaluatedItems`."""
    names: tuple[int, ...] = ()
    """Meets the names of the properties."""
    unevaluated: bool = False
    """Whether it has to find out what the subschemas at the same place have looked at."""

    @property
    def here(self) -> tuple[int, ...]:
        """All at the same place of the instance."""
        return self.applied + tuple(chain.from_iterable(self.referred))

    @property
    def all(self) -> tuple[int, ...]:
        """All that it leads to."""
        return self.here + self.named + self.matched + self.placed + self.counted + self.names


class Unresolvable(ValueError):
    """A reference leads where no schema was found."""


class TooManyTargets(ValueError):
    """The references have more possible targets, all together, than can be looked at."""


class SchemaGraph:
    """The subschemas that a valid schema leads to, numbered. The schema itself is number 0."""

    def __init__(self, schema: Schema) -> None:
        draft = str(schema.get("$schema", ""))
        self._id = "id" if "draft-04" in draft or "draft-03" in draft else "$id"
        self._schema = schema
        self._at: dict[str, list[Schema]] = {}
        self._bases: dict[int, tuple[str, ...]] = {}
        self._dynamic: dict[str, list[Schema]] = {}
        self._number: dict[int, int] = {}
        self._found: list[Schema] = []
        self._targets_left = _MAX_TARGETS
        self._index()
        self._reach(schema)
        self.subschemas: list[Subschema] = []
        for each in self._found:  # grows on the way
            self.subschemas.append(self._subschema(each))

    def _reach(self, schema: Schema) -> int:
        number = self._number.setdefault(id(schema), len(self._found))
        if number == len(self._found):
            self._found.append(schema)
        return number

    def _several(self, values: Any) -> tuple[int, ...]:
        """The numbers of those of the values that are schemas with keywords: `true` and `false` cost nothing."""
        return tuple(self._reach(each) for each in values if isinstance(each, dict))

    def _subschema(self, schema: Schema) -> Subschema:
        return Subschema(
            applied=self._several(_applied(schema)),
            referred=tuple(filter(None, map(self._several, self._referred(schema)))),
            named=self._several([*_values(schema, "properties"), schema.get("additionalProperties")]),
            matched=self._several([*_values(schema, "patternProperties"), schema.get("unevaluatedProperties")]),
            placed=self._several(
                [*_items(schema, "prefixItems"), *_items(schema, "items"), schema.get("additionalItems")]
            ),
            counted=self._several([schema.get("contains"), schema.get("unevaluatedItems")]),
            names=self._several([schema.get("propertyNames")]),
            unevaluated=any(keyword in schema for keyword in _UNEVALUATED),
        )

    def _index(self) -> None:
        """Note the addresses of all subschemas that have one, and the base of each."""
        waiting: list[tuple[Any, tuple[str, ...]]] = [(self._schema, (_ROOT,))]
        self._at[_ROOT] = [self._schema]
        while waiting:
            value, bases = waiting.pop()
            if isinstance(value, list):
                waiting.extend((each, bases) for each in value)
            elif isinstance(value, dict):
                bases = self._note(value, bases)
                waiting.extend((each, bases) for key, each in value.items() if key not in _NO_SCHEMAS)

    def _note(self, schema: Schema, bases: tuple[str, ...]) -> tuple[str, ...]:
        """The bases of what lies in the schema: two where drafts differ on whether `$id` counts beside a `$ref`."""
        address = schema.get(self._id)
        if isinstance(address, str):
            own = tuple(_joined(base, address) for base in bases[:1])
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

    def _referred(self, schema: Schema) -> Iterator[list[Any]]:
        """The possible targets of each reference. Which a dynamic one has, the way to it decides."""
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = schema.get(keyword)
            if isinstance(reference, str):
                targets = self._targets(reference, self._bases.get(id(schema), (_ROOT,)))
                dynamic = [] if keyword == "$ref" else self._dynamic.get(urldefrag(reference).fragment, [])
                self._spend(len(dynamic))
                yield targets + dynamic

    def _spend(self, targets: int) -> None:
        self._targets_left -= targets
        if self._targets_left < 0:
            raise TooManyTargets

    def _targets(self, reference: str, bases: tuple[str, ...]) -> list[Any]:
        """What the reference may lead to: several where an address is given twice."""
        found: dict[int, Any] = {}
        for base in bases:
            address = _joined(base, reference)
            resource, fragment = urldefrag(address)
            self._spend(len(self._at.get(address.removesuffix("#"), ())) + len(self._at.get(resource, ())))
            found |= {id(each): each for each in self._at.get(address.removesuffix("#"), ())}
            if fragment.startswith("/"):
                for root in self._at.get(resource, ()):
                    target = resolve(root, unquote(fragment))
                    found |= {} if target is MISSING else {id(target): target}
            if not found and resource.startswith(_PUBLISHED):
                return []  # cheap: each leads to others by place, and none of them twice
        if not found:
            raise Unresolvable
        return list(found.values())


def _joined(base: str, reference: str) -> str:
    if reference.startswith("#") or not reference:
        return urldefrag(base).url + reference
    if base.startswith("urn:"):
        return reference
    if base.startswith(_ROOT):  # urljoin knows no hierarchy in schemes of its own
        joined = urljoin("http://aex/" + base.removeprefix(_ROOT), reference)
        return _ROOT + joined.removeprefix("http://aex/") if joined.startswith("http://aex/") else joined
    return urljoin(base, reference)


def _values(schema: Schema, keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return list(value.values()) if isinstance(value, dict) else []


def _items(schema: Schema, keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else [value]


def _applied(schema: Schema) -> Iterator[Any]:
    for keyword in _LISTS:
        yield from _items(schema, keyword)
    for keyword in _SINGLE:
        yield schema.get(keyword)
    for keyword in _NAMED:
        yield from _values(schema, keyword)
