"""The layout of a document in Firestore, and its size, which every backend limits. Pure.

    record: {body: bytes, fields: {<index field>: value}, absent: [names], nonce: bytes}
    expires: the time after which Firestore may delete the document, if declared

The record is a single map: an exemption from indexing covers its content. A database allows 200. A
declared index field that a document lacks is stored as null, because queries do not find missing fields. `absent`
distinguishes it from a null that was written. The nonce makes every write a change. A write that changes nothing
would keep its `update_time`, which is the version.

Sizes after https://cloud.google.com/firestore/docs/storage-size and https://cloud.google.com/firestore/quotas. Where
these are ambiguous (the 32 bytes of a document, for a map?), the larger one.
"""

from collections.abc import Iterator
from functools import lru_cache

from aex_runtime.store.port import Collection, Fields, Scalar, Write

RECORD, BODY, FIELDS, ABSENT, NONCE = "record", "body", "fields", "absent", "nonce"
EXPIRES = "expires"
"""Outside the record: Firestore deletes by a top-level time field only."""
NONCE_BYTES = 8
_FIELDS_PATH = f"{RECORD}.{FIELDS}."
MAX_FIELD_NAME_BYTES = 1_500 - len(_FIELDS_PATH)
"""Firestore allows 1,500 bytes for a field path."""
_NAME_BYTES, _MAP_BYTES, _INDEX_ENTRY_BYTES = 16, 32, 48
WRITE_BYTES = 512
"""More than a request adds to a document: the names of project and database, the message's framing."""


def field_path(name: str) -> str:
    """Return the path of an index field, whose name is an identifier and needs no quotes."""
    return _FIELDS_PATH + name


def absent_of(collection: Collection, fields: Fields) -> tuple[str, ...]:
    """Return the declared index fields that are not among `fields`."""
    return tuple(name for name in _declared_fields(collection) if name not in fields)


def expires_at(write: Write) -> int | None:
    """Return the time after which the document may be deleted, in microseconds since 1970; None: never."""
    name = write.collection.expires
    value = None if name is None else write.fields.get(name)
    return value if isinstance(value, int) else None


def document_bytes(write: Write) -> int:
    """Return the size of the document, at most `MAX_DOCUMENT_BYTES`."""
    return record_bytes(write) + around_record_bytes(write)


def around_record_bytes(write: Write) -> int:
    """Return the size of a document without its record."""
    expires = 0 if expires_at(write) is None else _text_bytes(EXPIRES) + 8
    return name_bytes(write) + _text_bytes(RECORD) + expires + _MAP_BYTES


def record_bytes(write: Write) -> int:
    """Return the size of the record, at most `MAX_VALUE_BYTES`."""
    fields = sum(_text_bytes(name) + value_bytes(value) for name, value in write.fields.items())
    # an absent field is a name with a null among the fields, and a text in the list
    absent = sum(2 * _text_bytes(name) + 1 for name in absent_of(write.collection, write.fields))
    names = len(BODY) + len(FIELDS) + len(ABSENT) + len(NONCE) + 4
    return len(write.body) + NONCE_BYTES + names + fields + absent + 2 * _MAP_BYTES


def request_bytes(write: Write) -> int:
    """Return an upper bound of a write's size in a commit, in total at most `MAX_TRANSACTION_BYTES`."""
    return WRITE_BYTES + (name_bytes(write) if write.kind == "delete" else document_bytes(write))


def index_entries(write: Write) -> Iterator[int]:
    """Yield the size of the document's entry in each declared index, at most `MAX_INDEX_ENTRY_BYTES`."""
    for index in write.collection.indexes:
        yield name_bytes(write) + sum(value_bytes(write.fields.get(name)) for name in index.fields) + _INDEX_ENTRY_BYTES


def name_bytes(write: Write) -> int:
    """Return the size of a document's name."""
    return _text_bytes(write.collection.name) + _text_bytes(write.key) + _NAME_BYTES


def value_bytes(value: Scalar) -> int:
    """Return the size of an index value."""
    if isinstance(value, str):
        return _text_bytes(value)
    return 1 if value is None or isinstance(value, bool) else 8


@lru_cache(maxsize=1_024)
def _declared_fields(collection: Collection) -> tuple[str, ...]:
    return tuple(sorted({name for index in collection.indexes for name in index.fields}))


def _text_bytes(text: str) -> int:
    return len(text.encode()) + 1
