"""How a document lies in Firestore, and what it weighs there. Pure: every backend refuses by these sizes.

    record: {body: bytes, fields: {<index field>: value}, absent: [names], nonce: bytes}
    expires: the time after which Firestore may delete the document, where its collection declares one

All of the record is in one map, because an exemption from indexing covers a map with what is in it, and a database has
room for 200 exemptions. A declared index field that a document lacks is stored as null, since Firestore finds nothing
by a field that is not there; `absent` tells it from a null that was written. The nonce makes every write change
something: a write that changes nothing would keep its `update_time`, which is our version.

Sizes after https://cloud.google.com/firestore/docs/storage-size and https://cloud.google.com/firestore/quotas; where
those leave room (does a map have the 32 bytes of a document?), the greater.
"""

from collections.abc import Iterator
from functools import lru_cache

from aex_runtime.store.buffer import Write
from aex_runtime.store.port import Collection, Fields, Scalar

RECORD, BODY, FIELDS, ABSENT, NONCE = "record", "body", "fields", "absent", "nonce"
EXPIRES = "expires"
"""Beside the record: Firestore deletes by a field that is a time, and of no map."""
NONCE_BYTES = 8
_FIELDS_PATH = f"{RECORD}.{FIELDS}."
MAX_FIELD_NAME_BYTES = 1_500 - len(_FIELDS_PATH)
"""Firestore allows 1,500 bytes for a whole field path."""
_NAME_BYTES, _MAP_BYTES, _INDEX_ENTRY_BYTES = 16, 32, 48
WRITE_BYTES = 512
"""More than the request adds to a document: the name of project and database, the framing of the message."""


def field_path(name: str) -> str:
    """Where an index field lies. Its name is an identifier, so nothing needs quoting."""
    return _FIELDS_PATH + name


def absent_of(collection: Collection, fields: Fields) -> tuple[str, ...]:
    """The declared index fields that are not among `fields`."""
    return tuple(name for name in _declared(collection) if name not in fields)


def expires_at(write: Write) -> int | None:
    """When what is written may be deleted, in microseconds since 1970; None: never."""
    name = write.collection.expires
    value = None if name is None else write.fields.get(name)
    return value if isinstance(value, int) else None


def document_bytes(write: Write) -> int:
    """What Firestore counts for the whole document; `MAX_DOCUMENT_BYTES` is its limit."""
    return record_bytes(write) + around_record_bytes(write)


def around_record_bytes(write: Write) -> int:
    """What Firestore counts for a document beside the value of its one field."""
    expires = 0 if expires_at(write) is None else _text_bytes(EXPIRES) + 8
    return name_bytes(write) + _text_bytes(RECORD) + expires + _MAP_BYTES


def record_bytes(write: Write) -> int:
    """What Firestore counts for the one field; `MAX_VALUE_BYTES` is its limit."""
    fields = sum(_text_bytes(name) + value_bytes(value) for name, value in write.fields.items())
    # an absent field is a name with a null among the fields, and a text in the list
    absent = sum(2 * _text_bytes(name) + 1 for name in absent_of(write.collection, write.fields))
    names = len(BODY) + len(FIELDS) + len(ABSENT) + len(NONCE) + 4
    return len(write.body) + NONCE_BYTES + names + fields + absent + 2 * _MAP_BYTES


def request_bytes(write: Write) -> int:
    """What a write adds to the commit, at most; `MAX_TRANSACTION_BYTES` is the limit of their sum."""
    return WRITE_BYTES + (name_bytes(write) if write.kind == "delete" else document_bytes(write))


def index_entries(write: Write) -> Iterator[int]:
    """What Firestore counts for the document's entry in each declared index; `MAX_INDEX_ENTRY_BYTES` is their limit."""
    for index in write.collection.indexes:
        names = (*index.equal, *((index.order,) if index.order else ()))
        yield name_bytes(write) + sum(value_bytes(write.fields.get(name)) for name in names) + _INDEX_ENTRY_BYTES


def name_bytes(write: Write) -> int:
    """What Firestore counts for a document's name."""
    return _text_bytes(write.collection.name) + _text_bytes(write.key) + _NAME_BYTES


def value_bytes(value: Scalar) -> int:
    """What Firestore counts for an index value."""
    if isinstance(value, str):
        return _text_bytes(value)
    return 1 if value is None or isinstance(value, bool) else 8


@lru_cache(maxsize=1_024)
def _declared(collection: Collection) -> tuple[str, ...]:
    equal = {name for index in collection.indexes for name in index.equal}
    return tuple(sorted(equal | {index.order for index in collection.indexes if index.order}))


def _text_bytes(text: str) -> int:
    return len(text.encode()) + 1
