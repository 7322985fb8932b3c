"""The layout of a document in Firestore, and its size. Pure.

    record: {body: bytes, fields: {<index field>: value}, absent: [names], nonce: bytes}
    expires: the time after which Firestore may delete the document, if declared

All backends enforce Firestore's limits of size. The record is one map: a database allows 200 exemptions from indexing,
and one covers a map.

Queries do not find missing fields. So a declared index field that a document lacks is stored as null. Its name is
listed in `absent`, which distinguishes it from a null that was written.

The version of a document is its `update_time`, which a write without any change keeps. The random nonce makes every
write a change.

Sizes follow https://cloud.google.com/firestore/docs/storage-size and https://cloud.google.com/firestore/quotas. Where
these are ambiguous, such as for the 32 bytes of a map, the larger size is used.
"""

from collections.abc import Iterator
from functools import lru_cache

from aex_runtime.store.port import Collection, Fields, Scalar, Write

RECORD, BODY, FIELDS, ABSENT, NONCE = "record", "body", "fields", "absent", "nonce"
EXPIRES = "expires"
"""Name of a field outside of the record, because Firestore deletes by a top-level time field only."""
NONCE_BYTES = 8
_FIELDS_PATH = f"{RECORD}.{FIELDS}."
MAX_FIELD_NAME_BYTES = 1_500 - len(_FIELDS_PATH)
"""Firestore allows 1,500 bytes for a field path."""
_NAME_BYTES, _MAP_BYTES, _INDEX_ENTRY_BYTES = 16, 32, 48
WRITE_BYTES = 512
"""Upper bound of what a request adds to a document: the names of project and database, and framing."""


def index_field_path(name: str) -> str:
    """Return Firestore's path of an index field; its name is an identifier and needs no quotes."""
    return _FIELDS_PATH + name


def missing_index_fields(collection: Collection, fields: Fields) -> tuple[str, ...]:
    """Return the names of the collection's declared index fields that `fields` lacks, in order."""
    return tuple(name for name in _declared_fields(collection) if name not in fields)


def expiry_micros(write: Write) -> int | None:
    """Return the time after which the document may be deleted, in microseconds since 1970; None: never."""
    name = write.collection.expires
    value = None if name is None else write.fields.get(name)
    return value if isinstance(value, int) else None


def document_bytes(write: Write) -> int:
    """Return the size in bytes of the written document, which `MAX_DOCUMENT_BYTES` limits."""
    return record_bytes(write) + bytes_outside_record(write)


def bytes_outside_record(write: Write) -> int:
    """Return the size in bytes of the document without its record: name, expiry and overhead."""
    expires = 0 if expiry_micros(write) is None else _text_bytes(EXPIRES) + 8
    return document_name_bytes(write) + _text_bytes(RECORD) + expires + _MAP_BYTES


def record_bytes(write: Write) -> int:
    """Return the size in bytes of the document's record, which `MAX_VALUE_BYTES` limits."""
    fields = sum(_text_bytes(name) + index_value_bytes(value) for name, value in write.fields.items())
    # an absent field is a name with a null among the fields, and a text in the list
    absent = sum(2 * _text_bytes(name) + 1 for name in missing_index_fields(write.collection, write.fields))
    names = len(BODY) + len(FIELDS) + len(ABSENT) + len(NONCE) + 4
    return len(write.body) + NONCE_BYTES + names + fields + absent + 2 * _MAP_BYTES


def max_bytes_in_commit(write: Write) -> int:
    """Return an upper bound of the bytes that a write adds to a commit request.

    `MAX_TRANSACTION_BYTES` limits the sum over a transaction.
    """
    return WRITE_BYTES + (document_name_bytes(write) if write.kind == "delete" else document_bytes(write))


def index_entry_sizes(write: Write) -> Iterator[int]:
    """Yield the size in bytes of the document's entry in each declared index.

    `MAX_INDEX_ENTRY_BYTES` limits each.
    """
    for index in write.collection.indexes:
        yield (
            document_name_bytes(write)
            + sum(index_value_bytes(write.fields.get(name)) for name in index.fields)
            + _INDEX_ENTRY_BYTES
        )


def document_name_bytes(write: Write) -> int:
    """Return the size in bytes of the document's name."""
    return _text_bytes(write.collection.name) + _text_bytes(write.key) + _NAME_BYTES


def index_value_bytes(value: Scalar) -> int:
    """Return the size in bytes of an index field's value."""
    if isinstance(value, str):
        return _text_bytes(value)
    return 1 if value is None or isinstance(value, bool) else 8


@lru_cache(maxsize=1_024)
def _declared_fields(collection: Collection) -> tuple[str, ...]:
    return tuple(sorted({name for index in collection.indexes for name in index.fields}))


def _text_bytes(text: str) -> int:
    return len(text.encode()) + 1
