"""Comparison of two JSON Schemas, as pydantic writes them, for changes that break readers."""

from collections.abc import Iterator, Mapping
from operator import gt, lt
from typing import Any

Schema = Mapping[str, Any]

_FLOORS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_CEILINGS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_EXACT = ("pattern", "format", "uniqueItems", "multipleOf")


def find_breaking_changes(committed: Schema, current: Schema) -> list[str]:
    """Return the changes that break readers: removed or newly required fields, narrowed types or values.

    Each change is a JSON pointer and a reason: `/work/title: removed`. New optional fields, wider types and further
    enum values do not break readers. Without breaking changes, documents that `committed` allows stay valid.
    """
    return list(_Comparison(committed, current).find_changes(committed, current, "", frozenset()))


class _Comparison:
    def __init__(self, committed: Schema, current: Schema) -> None:
        self._old_definitions: Schema = committed.get("$defs", {})
        self._new_definitions: Schema = current.get("$defs", {})

    def find_changes(self, old: Schema, new: Schema, path: str, seen: frozenset[tuple[str, str]]) -> Iterator[str]:
        pair = (old.get("$ref", ""), new.get("$ref", ""))
        if pair in seen:
            return  # a model that holds itself: its fields are being compared already
        seen |= {pair} if all(pair) else set()
        old, new = _resolve(old, self._old_definitions), _resolve(new, self._new_definitions)
        former, latter = _alternatives(old), _alternatives(new)
        if len(latter) > 1 and any(option.get("type") == "null" for option in latter):
            former, latter = _without_null(former), _without_null(latter)
        if (former, latter) == ([old], [new]):
            yield from self._compare_plain(old, new, path, seen)
            return
        if len(former) == len(latter) == 1:
            yield from self.find_changes(former[0], latter[0], path, seen)
            return
        for option in former:
            if not any(not list(self.find_changes(option, candidate, path, seen)) for candidate in latter):
                schema = _resolve(option, self._old_definitions)
                name = schema.get("title") or schema.get("type") or schema.get("const") or "this alternative"
                yield f"{path}: {name} is no longer allowed"

    def _compare_plain(self, old: Schema, new: Schema, path: str, seen: frozenset[tuple[str, str]]) -> Iterator[str]:
        yield from _find_narrowing(old, new, path)
        yield from self._fields(old, new, path, seen)
        for part in ("items", "additionalProperties"):
            if isinstance(new.get(part), Mapping) and old.get(part) is not False:
                former = old[part] if isinstance(old.get(part), Mapping) else {}
                yield from self.find_changes(former, new[part], f"{path}/*", seen)
            elif new.get(part) is False and old.get(part) is not False:
                yield f"{path}: closed to further entries"

    def _fields(self, old: Schema, new: Schema, path: str, seen: frozenset[tuple[str, str]]) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        for name in sorted(set(new.get("required", [])) - set(old.get("required", []))):
            yield f"{path}/{name}: newly required"
        for name, part in before.items():
            if name not in after:
                yield f"{path}/{name}: removed"
            else:
                yield from self.find_changes(part, after[name], f"{path}/{name}", seen)


def _resolve(schema: Schema, definitions: Schema) -> Schema:
    while "$ref" in schema:
        schema = definitions[schema["$ref"].removeprefix("#/$defs/")]
    return schema


def _alternatives(schema: Schema) -> list[Schema]:
    if isinstance(schema.get("anyOf"), list):
        return list(schema["anyOf"])
    if isinstance(schema.get("type"), list):
        return [{**schema, "type": each} for each in schema["type"]]
    return [schema]


def _without_null(options: list[Schema]) -> list[Schema]:
    return [option for option in options if option.get("type") != "null"]


def _find_narrowing(old: Schema, new: Schema, path: str) -> Iterator[str]:
    if "type" in new and not _covers(new["type"], old.get("type")):
        yield f"{path}: type narrowed from {old.get('type', 'any')} to {new['type']}"
    lost = [value for value in _values(old) or () if value not in (_values(new) or [value])]
    if lost:
        yield f"{path}: values removed: {', '.join(map(repr, lost))}"
    if _values(new) is not None and _values(old) is None:
        yield f"{path}: values limited"
    for word in _EXACT:
        if word in new and new[word] != old.get(word):
            yield f"{path}: {word} changed"
    for words, change, narrows in ((_FLOORS, "raised", gt), (_CEILINGS, "lowered", lt)):
        for word in words:
            if word in new and (word not in old or narrows(new[word], old[word])):
                yield f"{path}: {word} {change}"


def _covers(new: str, old: str | None) -> bool:
    return new == old or (new == "number" and old == "integer")


def _values(schema: Schema) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    values: list[Any] | None = schema.get("enum")
    return values
