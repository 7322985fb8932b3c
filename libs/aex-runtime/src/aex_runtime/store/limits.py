"""What Firestore would refuse, refused everywhere. Checked before anything of a transaction is applied."""

import re

from aex_runtime.store.buffer import Write
from aex_runtime.store.port import (
    MAX_DOCUMENT_BYTES,
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


def check_document(write: Write) -> None:
    """Raise `InvalidDocument` for names, fields and sizes that Firestore would refuse."""
    where = f"{write.collection.name}/{write.key}"
    check_collection(write.collection)
    size = _check_name(where, write.key) + len(write.body)
    if write.kind == "delete":
        return
    if not isinstance(write.body, bytes):
        raise InvalidDocument(f"{where}: a body is bytes, not {type(write.body).__name__}")
    for name, value in write.fields.items():
        size += _check_field(where, name) + _check_value(f"{where}: index field {name}", value)
    if size > MAX_DOCUMENT_BYTES:
        raise InvalidDocument(f"{where}: {size} bytes exceed the limit of {MAX_DOCUMENT_BYTES}")


def check_collection(collection: Collection) -> None:
    """Raise `InvalidDocument` for a collection or an index whose names cannot be stored."""
    _check_name("a collection", collection.name)
    for index in collection.indexes:
        for name in (*index.equal, *((index.order,) if index.order else ())):
            _check_field(collection.name, name)


def check_query(query: Query) -> None:
    """Raise `UndeclaredIndex` where no index serves the query, `InvalidDocument` where it compares with the unstorable.

    Raises `ValueError` for a limit below 1.
    """
    query.index()
    check_collection(query.collection)
    if query.limit < 1:
        raise ValueError(f"{query.collection.name}: a query asks for at least one document, not {query.limit}")
    if query.bounds and query.order is None:
        raise UndeclaredIndex(f"{query.collection.name}: bounds need an ordered field")
    where = f"{query.collection.name}: a query"
    for value in (*query.equal.values(), *(bound.value for bound in query.bounds), *(query.after or ())):
        _check_value(where, value)


def _check_name(where: str, name: str) -> int:
    size = _bytes(where, name)
    if not name or name in {".", ".."} or "/" in name or "\0" in name or _RESERVED.fullmatch(name):
        raise InvalidDocument(f"{where}: {name!r} cannot name a document or a field")
    if size > _MAX_KEY_BYTES:
        raise InvalidDocument(f"{where}: a name is at most {_MAX_KEY_BYTES} bytes")
    return size


def _check_field(where: str, name: str) -> int:
    if not _FIELD.fullmatch(name):  # other names need quoting, in Firestore's field paths as in SQLite's
        raise InvalidDocument(f"{where}: {name!r} cannot name an index field")
    return _check_name(where, name)


def _check_value(where: str, value: Scalar) -> int:
    if isinstance(value, str):
        size = _bytes(where, value)
        if size > _MAX_INDEXED_BYTES or "\0" in value:
            raise InvalidDocument(f"{where}: text holds at most {_MAX_INDEXED_BYTES} bytes, and no NUL")
        return size
    if value is not None and type(value) not in {bool, int}:
        raise InvalidDocument(f"{where}: {type(value).__name__} cannot be indexed")
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise InvalidDocument(f"{where}: an integer does not fit into 64 bits")
    return 8


def _bytes(where: str, text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidDocument(f"{where}: text with lone surrogates cannot be stored") from error
