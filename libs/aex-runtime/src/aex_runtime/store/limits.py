"""What Firestore would refuse, refused everywhere."""

import re

from aex_runtime.store.buffer import Write
from aex_runtime.store.port import MAX_DOCUMENT_BYTES, InvalidDocument

_RESERVED = re.compile(r"__.*__")
_MAX_KEY_BYTES = 1_500
_MAX_INDEXED_BYTES = 1_500
_INT64 = 2**63


def check_document(write: Write) -> None:
    """Raise `InvalidDocument` for keys, fields and sizes that Firestore would refuse."""
    where = f"{write.collection}/{write.key}"
    _check_name(where, write.key)
    size = len(write.key.encode()) + len(write.body)
    for name, value in write.fields.items():
        _check_name(where, name)
        if isinstance(value, str) and len(value.encode()) > _MAX_INDEXED_BYTES:
            raise InvalidDocument(f"{where}: index field {name} is longer than {_MAX_INDEXED_BYTES} bytes")
        if isinstance(value, int) and not -_INT64 <= value < _INT64:
            raise InvalidDocument(f"{where}: index field {name} does not fit into 64 bits")
        size += len(name.encode()) + (len(value.encode()) if isinstance(value, str) else 8)
    if size > MAX_DOCUMENT_BYTES:
        raise InvalidDocument(f"{where}: {size} bytes exceed the limit of {MAX_DOCUMENT_BYTES}")


def _check_name(where: str, name: str) -> None:
    if not name or name in {".", ".."} or "/" in name or _RESERVED.fullmatch(name):
        raise InvalidDocument(f"{where}: {name!r} cannot name a document or a field")
    if len(name.encode()) > _MAX_KEY_BYTES:
        raise InvalidDocument(f"{where}: a name is at most {_MAX_KEY_BYTES} bytes")
