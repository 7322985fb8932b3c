"""What Firestore would refuse, refused everywhere. Checked before anything of a transaction is applied."""

import re
from collections.abc import Sequence
from functools import lru_cache

from aex_runtime.store.buffer import Write
from aex_runtime.store.firestore_layout import (
    MAX_FIELD_NAME_BYTES,
    WRITE_BYTES,
    around_record_bytes,
    index_entries,
    record_bytes,
    request_bytes,
)
from aex_runtime.store.port import (
    MAX_DOCUMENT_BYTES,
    MAX_INDEX_ENTRY_BYTES,
    MAX_TRANSACTION_BYTES,
    MAX_VALUE_BYTES,
    Collection,
    InvalidDocument,
    Query,
    Scalar,
    UndeclaredIndex,
)

_RESERVED = re.compile(r"__.*__", re.DOTALL)
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_KEY_BYTES = 1_500
_MAX_INDEXED_BYTES = 1_500
_INT64 = 2**63


def check_writes(writes: Sequence[Write]) -> None:
    """Raise `InvalidDocument` for names, fields and sizes that Firestore would refuse."""
    _check_size("a transaction", sum(map(_checked_bytes, writes)), MAX_TRANSACTION_BYTES)


def is_name(text: str) -> bool:
    """Whether anything can be stored under this name."""
    try:
        _check_name("", text)
    except InvalidDocument:
        return False
    return True


def _checked_bytes(write: Write) -> int:
    """What a write adds to the commit, if it can be stored. Each size is reckoned once: all writes come here."""
    where = f"{write.collection.name}/{write.key}"
    check_collection(write.collection)
    _check_name(where, write.key)
    if write.kind == "delete":
        return request_bytes(write)
    if not isinstance(write.body, bytes):
        raise InvalidDocument(f"{where}: a body is bytes, not {type(write.body).__name__}")
    for name, value in write.fields.items():
        _check_field(where, name)
        _check_value(f"{where}: index field {name}", value)
    record = record_bytes(write)
    size = record + around_record_bytes(write)
    _check_size(where, size, MAX_DOCUMENT_BYTES)
    _check_size(f"{where}: body and index fields", record, MAX_VALUE_BYTES)
    if size - len(write.body) > MAX_INDEX_ENTRY_BYTES:  # or no index can hold as much
        for entry in index_entries(write):
            _check_size(f"{where}: the fields of one index", entry, MAX_INDEX_ENTRY_BYTES)
    return size + WRITE_BYTES


@lru_cache(maxsize=1_024)  # once for each: they are declared as data
def check_collection(collection: Collection) -> None:
    """Raise `InvalidDocument` for a collection or an index whose names cannot be stored."""
    _check_name("a collection", collection.name)
    for index in collection.indexes:
        for name in (*index.equal, *((index.order,) if index.order else ())):
            _check_field(collection.name, name)
    if collection.expires is not None and collection.expires not in {index.order for index in collection.indexes}:
        raise InvalidDocument(f"{collection.name}: {collection.expires} is no field that an index orders")


def check_query(query: Query) -> None:
    """Raise `UndeclaredIndex` where no index serves the query, `InvalidDocument` where it compares with the unstorable.

    Firestore keeps keys in ascending order alone: without any field, only that way.

    Raises `ValueError` for a limit below 1.
    """
    query.index()
    check_collection(query.collection)
    if query.limit < 1:
        raise ValueError(f"{query.collection.name}: a query asks for at least one document, not {query.limit}")
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
    size = _bytes(where, name)
    if not name or name in {".", ".."} or "/" in name or "\0" in name or _RESERVED.fullmatch(name):
        raise InvalidDocument(f"{where}: {name!r} cannot name a document or a field")
    if size > _MAX_KEY_BYTES:
        raise InvalidDocument(f"{where}: a name is at most {_MAX_KEY_BYTES} bytes")


def _check_field(where: str, name: str) -> None:
    if not _is_field(name):
        _refuse_field(where, name)


@lru_cache(maxsize=1_024)  # as above
def _is_field(name: str) -> bool:
    try:
        _refuse_field("", name)
    except InvalidDocument:
        return False
    return True


def _refuse_field(where: str, name: str) -> None:
    """Raise `InvalidDocument` for what cannot name an index field."""
    if not _FIELD.fullmatch(name):  # other names need quoting, in Firestore's field paths as in SQLite's
        raise InvalidDocument(f"{where}: {name!r} cannot name an index field")
    _check_name(where, name)
    if len(name) > MAX_FIELD_NAME_BYTES:
        raise InvalidDocument(f"{where}: the name of an index field is at most {MAX_FIELD_NAME_BYTES} bytes")


def _check_value(where: str, value: Scalar) -> None:
    if isinstance(value, str):
        if _bytes(where, value) > _MAX_INDEXED_BYTES or "\0" in value:
            raise InvalidDocument(f"{where}: text holds at most {_MAX_INDEXED_BYTES} bytes, and no NUL")
    elif value is not None and type(value) not in {bool, int}:
        raise InvalidDocument(f"{where}: {type(value).__name__} cannot be indexed")
    elif isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise InvalidDocument(f"{where}: an integer does not fit into 64 bits")


def _bytes(where: str, text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidDocument(f"{where}: text with lone surrogates cannot be stored") from error
