"""Firestore's limits for documents and queries, which every backend enforces."""

import re
from collections.abc import Sequence
from functools import lru_cache

from aex_runtime.store import firestore_layout as layout
from aex_runtime.store import port
from aex_runtime.store.port import Collection, InvalidDocument, Query, Scalar, UndeclaredIndex, Write

_RESERVED = re.compile(r"__.*__", re.DOTALL)
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_KEY_BYTES = 1_500
_MAX_INDEXED_BYTES = 1_500
_INT64 = 2**63


def check_writes(writes: Sequence[Write]) -> None:
    """Raise `InvalidDocument` if Firestore would refuse a name, a field or a size of these writes."""
    _check_size("a transaction", sum(map(_write_bytes, writes)), port.MAX_TRANSACTION_BYTES)


def is_valid_name(text: str) -> bool:
    """Return whether a collection or a document can have this name."""
    return _name_defect(text) is None


def _write_bytes(write: Write) -> int:
    """Check one write and return the bytes that it adds to the commit. Raises `InvalidDocument`."""
    where = f"{write.collection.name}/{write.key}"
    check_collection(write.collection)
    _check_name(where, write.key)
    if write.kind == "delete":
        return layout.max_bytes_in_commit(write)
    if not isinstance(write.body, bytes):
        raise InvalidDocument(f"{where}: a body is bytes, not {type(write.body).__name__}")
    for name, value in write.fields.items():
        _check_field(where, name)
        _check_value(f"{where}: index field {name}", value)
    record = layout.record_bytes(write)
    size = record + layout.bytes_outside_record(write)
    _check_size(where, size, port.MAX_DOCUMENT_BYTES)
    _check_size(f"{where}: body and index fields", record, port.MAX_VALUE_BYTES)
    if size - len(write.body) > port.MAX_INDEX_ENTRY_BYTES:  # else every entry is small enough
        for entry in layout.index_entry_sizes(write):
            _check_size(f"{where}: the fields of one index", entry, port.MAX_INDEX_ENTRY_BYTES)
    return size + layout.WRITE_BYTES


@lru_cache(maxsize=1_024)  # collections are declared as data
def check_collection(collection: Collection) -> None:
    """Raise `InvalidDocument` if a name cannot be stored, or `expires` is not the order of an index."""
    _check_name("a collection", collection.name)
    for index in collection.indexes:
        for name in index.fields:
            _check_field(collection.name, name)
    if collection.expires is not None and collection.expires not in {index.order for index in collection.indexes}:
        raise InvalidDocument(f"{collection.name}: no index orders by {collection.expires}")


def check_query(query: Query) -> None:
    """Raise an error if a query is invalid, as Firestore would refuse it.

    Raises `UndeclaredIndex` if no declared index serves it, `InvalidDocument` for a value or a name, and `ValueError`
    for a limit below 1.
    """
    query.find_index()
    check_collection(query.collection)
    if query.limit < 1:
        raise ValueError(f"{query.collection.name}: the limit of a query is at least 1, not {query.limit}")
    if query.bounds and query.order is None:
        raise UndeclaredIndex(f"{query.collection.name}: bounds need an ordered field")
    if not query.equal and query.order is None and query.direction == "desc":
        raise UndeclaredIndex(f"{query.collection.name}: keys alone are read in ascending order only")
    where = f"{query.collection.name}: a query"
    for value in (*query.equal.values(), *(bound.value for bound in query.bounds)):
        _check_value(where, value)
    if query.after is not None:
        value, key = query.after
        _check_value(where, value)
        _check_name(where, key)


def _check_size(where: str, size: int, limit: int) -> None:
    if size > limit:
        raise InvalidDocument(f"{where}: {size} bytes exceed the limit of {limit}")


def _check_name(where: str, name: str) -> None:
    if defect := _name_defect(name):
        raise InvalidDocument(f"{where}: {defect}")


def _name_defect(name: str) -> str | None:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "text with lone surrogates cannot be stored"
    if not name or name in {".", ".."} or "/" in name or "\0" in name or _RESERVED.fullmatch(name):
        return f"{name!r} cannot name a document or a field"
    return f"a name is at most {_MAX_KEY_BYTES} bytes" if size > _MAX_KEY_BYTES else None


def _check_field(where: str, name: str) -> None:
    if defect := _field_defect(name):
        raise InvalidDocument(f"{where}: {defect}")


@lru_cache(maxsize=1_024)  # the names of declared collections
def _field_defect(name: str) -> str | None:
    if not _FIELD.fullmatch(name):  # other names need quoting, in Firestore's field paths as in SQLite's
        return f"{name!r} cannot name an index field"
    if len(name) > layout.MAX_FIELD_NAME_BYTES:
        return f"the name of an index field is at most {layout.MAX_FIELD_NAME_BYTES} bytes"
    return _name_defect(name)


def _check_value(where: str, value: Scalar) -> None:
    if isinstance(value, str):
        try:
            is_too_long = len(value.encode()) > _MAX_INDEXED_BYTES
        except UnicodeEncodeError as error:
            raise InvalidDocument(f"{where}: text with lone surrogates cannot be stored") from error
        if is_too_long or "\0" in value:
            raise InvalidDocument(f"{where}: text holds at most {_MAX_INDEXED_BYTES} bytes, and no NUL")
    elif value is not None and type(value) not in {bool, int}:
        raise InvalidDocument(f"{where}: {type(value).__name__} cannot be indexed")
    elif isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise InvalidDocument(f"{where}: an integer does not fit into 64 bits")
