"""The content of `firestore.indexes.json` for declared collections. Pure.

Firestore indexes every field unless it is exempted. Here the whole record is exempted, except for the fields that a
query needs. A query by several fields needs a composite index.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from aex_runtime.store.firestore_layout import EXPIRES, RECORD, index_field_path
from aex_runtime.store.port import Collection, Direction, Index

Order = Literal["ASCENDING", "DESCENDING"]
IndexFile = dict[str, list[dict[str, Any]]]
_BOTH: tuple[Order, ...] = ("ASCENDING", "DESCENDING")
_SCOPE = "COLLECTION"


def build_index_file(collections: Iterable[Collection]) -> IndexFile:
    """Return the content of `firestore.indexes.json`; the order of the collections does not matter."""
    each = sorted(collections, key=lambda collection: collection.name)
    return {
        "indexes": [entry for collection in each for entry in _composites(collection)],
        "fieldOverrides": [entry for collection in each for entry in _overrides(collection)],
    }


def _composites(collection: Collection) -> Iterator[dict[str, Any]]:
    written = [fields for index in collection.indexes for fields in _composites_of(index)]
    for number, fields in enumerate(written):
        if fields not in written[:number]:
            yield {"collectionGroup": collection.name, "queryScope": _SCOPE, "fields": fields}


def _composites_of(index: Index) -> Iterator[list[dict[str, str]]]:
    if index.order is not None and index.equal:
        yield [*(_field(name, "ASCENDING") for name in index.equal), _field(index.order, _order(index.direction))]
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
        yield _override(collection.name, index_field_path(name), [order for order in _BOTH if order in single[name]])
    if collection.expires is not None:
        # The deletion rule, without an index: one of ever later times would slow all writes.
        yield _override(collection.name, EXPIRES, ()) | {"ttl": True}


def _override(collection: str, path: str, orders: Sequence[Order]) -> dict[str, Any]:
    indexes = [{"order": order, "queryScope": _SCOPE} for order in orders]
    return {"collectionGroup": collection, "fieldPath": path, "indexes": indexes}


def _field(name: str, order: Order) -> dict[str, str]:
    return {"fieldPath": index_field_path(name), "order": order}


def _order(direction: Direction) -> Order:
    return "ASCENDING" if direction == "asc" else "DESCENDING"
