"""Shapes of queries, and a check whether a Firestore index file has the indexes for a shape."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aex_runtime.store.firestore_indexes import IndexFile, Order
from aex_runtime.store.firestore_layout import index_field_path
from aex_runtime.store.port import Direction, Query

_SCOPE = "COLLECTION"


@dataclass(frozen=True, slots=True)
class Shape:
    """The properties of a query that decide which index serves it."""

    collection: str
    equal: tuple[str, ...]
    """Sorted."""
    order: str | None
    direction: Direction


def get_shape(query: Query) -> Shape:
    """Return the shape of a query: its fields and order, without values."""
    return Shape(query.collection.name, tuple(sorted(query.equal)), query.order, query.direction)


def has_index_for(content: IndexFile, shape: Shape) -> bool:
    """Return whether Firestore answers queries of this shape with these indexes.

    Firestore can also merge composite indexes that end in the same order. That is slow if few documents have all the
    values, and does not count here.
    """
    if shape.order is None and not shape.equal:
        return shape.direction == "asc"  # by name, which Firestore sorts in ascending order only
    order: Order = "ASCENDING" if shape.direction == "asc" else "DESCENDING"
    singles = [_has_single(content, shape.collection, name, order) for name in shape.equal]
    if shape.order is None:  # indexes of single fields are merged
        return all(singles) or _has_composite(content, shape, order)
    if not shape.equal:
        return _has_single(content, shape.collection, shape.order, order)
    return _has_composite(content, shape, order)


def _has_single(content: IndexFile, collection: str, name: str, order: Order) -> bool:
    """Return whether the field is indexed, by its override or that of its nearest map."""
    overrides: Mapping[str, Any] = {
        entry["fieldPath"]: entry["indexes"]
        for entry in content["fieldOverrides"]
        if entry["collectionGroup"] == collection
    }
    path = index_field_path(name)
    while path:
        if path in overrides:
            return {"order": order, "queryScope": _SCOPE} in overrides[path]
        path = path.rpartition(".")[0]
    return True


def _has_composite(content: IndexFile, shape: Shape, order: Order) -> bool:
    """Return whether an index has the equal fields first, in any order, then the ordered field."""
    equal_paths = {index_field_path(name) for name in shape.equal}
    for entry in content["indexes"]:
        if entry["collectionGroup"] != shape.collection or entry["queryScope"] != _SCOPE:
            continue
        last = entry["fields"][-1]
        equal = entry["fields"][:-1] if shape.order else entry["fields"]
        ordered = last["fieldPath"] == index_field_path(shape.order) if shape.order else True
        if ordered and last["order"] == order and {field["fieldPath"] for field in equal} == equal_paths:
            return True
    return False
