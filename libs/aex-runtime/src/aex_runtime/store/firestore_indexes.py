"""The indexes that Firestore needs for declared collections, as the file `firestore.indexes.json` holds them. Pure.

Firestore indexes every field by itself unless told otherwise. Here it is told otherwise: a collection's record is
exempt as a whole, and from that what a query needs is excepted. A query by several fields needs a composite index.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from aex_runtime.store.firestore_layout import EXPIRES, RECORD, field_path
from aex_runtime.store.port import Collection, Direction, Index, Query

Order = Literal["ASCENDING", "DESCENDING"]
IndexFile = dict[str, list[dict[str, Any]]]
_BOTH: tuple[Order, ...] = ("ASCENDING", "DESCENDING")
_SCOPE = "COLLECTION"


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a query decides which index serves it."""

    collection: str
    equal: tuple[str, ...]
    """Sorted."""
    order: str | None
    direction: Direction


def shape_of(query: Query) -> Shape:
    """A query without its values."""
    return Shape(query.collection.name, tuple(sorted(query.equal)), query.order, query.direction)


def index_file(collections: Iterable[Collection]) -> IndexFile:
    """The content of the file, the same for the same collections in any order."""
    each = sorted(collections, key=lambda collection: collection.name)
    return {
        "indexes": [entry for collection in each for entry in _composites(collection)],
        "fieldOverrides": [entry for collection in each for entry in _overrides(collection)],
    }


def covers(content: IndexFile, shape: Shape) -> bool:
    """Whether Firestore, with these indexes, answers queries of this shape.

    Firestore would also merge composite indexes that end in the same order; that is slow where few documents have all
    the values, and does not count here.
    """
    if shape.order is None and not shape.equal:
        return shape.direction == "asc"  # by name: always there, but forward only
    order = _order(shape.direction)
    singles = [_has_single(content, shape.collection, name, order) for name in shape.equal]
    if shape.order is None:  # indexes of single fields are merged
        return all(singles) or _has_composite(content, shape, order)
    if not shape.equal:
        return _has_single(content, shape.collection, shape.order, order)
    return _has_composite(content, shape, order)


def _composites(collection: Collection) -> Iterator[dict[str, Any]]:
    written: list[list[dict[str, str]]] = []
    for index in collection.indexes:
        for fields in _composites_of(index):
            if fields not in written:
                written.append(fields)
                yield {"collectionGroup": collection.name, "queryScope": _SCOPE, "fields": fields}


def _composites_of(index: Index) -> Iterator[list[dict[str, str]]]:
    if index.order is not None and index.equal:
        ordered = _field(index.order, _order(index.direction))
        yield [*(_field(name, "ASCENDING") for name in index.equal), ordered]
    elif len(index.equal) > 1:  # in the order of the keys, which is that of the last field, both ways
        *first, last = index.equal
        for order in _BOTH:
            yield [*(_field(name, "ASCENDING") for name in first), _field(last, order)]


def _overrides(collection: Collection) -> Iterator[dict[str, Any]]:
    yield _override(collection.name, RECORD, ())
    single: dict[str, set[Order]] = {}
    for index in collection.indexes:
        if index.order is not None and not index.equal:
            single.setdefault(index.order, set()).add(_order(index.direction))
        elif index.order is None and len(index.equal) == 1:
            single.setdefault(index.equal[0], set()).update(_BOTH)
    for name in sorted(single):
        yield _override(collection.name, field_path(name), [order for order in _BOTH if order in single[name]])
    if collection.expires is not None:
        yield _expiry(collection.name)


def _expiry(collection: str) -> dict[str, Any]:
    """By this field documents are deleted, and none is found: an index of ever later times would slow all writes."""
    return _override(collection, EXPIRES, ()) | {"ttl": True}


def _override(collection: str, path: str, orders: Sequence[Order]) -> dict[str, Any]:
    indexes = [{"order": order, "queryScope": _SCOPE} for order in orders]
    return {"collectionGroup": collection, "fieldPath": path, "indexes": indexes}


def _field(name: str, order: Order) -> dict[str, str]:
    return {"fieldPath": field_path(name), "order": order}


def _order(direction: Direction) -> Order:
    return "ASCENDING" if direction == "asc" else "DESCENDING"


def _has_single(content: IndexFile, collection: str, name: str, order: Order) -> bool:
    """By the exemption of the field itself or of the nearest map that it lies in; without any, Firestore has it."""
    overrides: Mapping[str, Any] = {
        entry["fieldPath"]: entry["indexes"]
        for entry in content["fieldOverrides"]
        if entry["collectionGroup"] == collection
    }
    path = field_path(name)
    while path:
        if path in overrides:
            return {"order": order, "queryScope": _SCOPE} in overrides[path]
        path = path.rpartition(".")[0]
    return True


def _has_composite(content: IndexFile, shape: Shape, order: Order) -> bool:
    """Those compared for equality come first, in any order and direction; the last field gives the order."""
    wanted = {field_path(name) for name in shape.equal}
    for entry in content["indexes"]:
        if entry["collectionGroup"] != shape.collection or entry["queryScope"] != _SCOPE:
            continue
        last = entry["fields"][-1]
        equal = entry["fields"][:-1] if shape.order else entry["fields"]
        ordered = last["fieldPath"] == field_path(shape.order) if shape.order else True
        if ordered and last["order"] == order and {field["fieldPath"] for field in equal} == wanted:
            return True
    return False
