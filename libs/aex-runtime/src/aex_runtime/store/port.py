"""The record store, shaped for the stricter of its backends (Firestore).

A document is canonical JSON bytes in one unindexed field (`body`) plus declared index fields. Transactions read
before they write, and run again if a document that they read has changed.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from aex_models.canonical import sha256_hex

T = TypeVar("T")
Scalar = str | int | bool | None
Fields = Mapping[str, Scalar]

MAX_DOCUMENT_BYTES = 1_048_576
"""Firestore's limit for one document, counted as Firestore counts: name, fields and body together."""
MAX_VALUE_BYTES = MAX_DOCUMENT_BYTES - 89
"""Firestore's limit for one field; here it holds the body and the index fields."""
MAX_INDEX_ENTRY_BYTES = 7_680
"""Firestore's limit for the fields of one index together, with the document's name."""
MAX_TRANSACTION_BYTES = 10_485_760
"""Firestore's limit for a whole transaction."""
SPILL_BYTES = 65_536
"""Bodies above this size become content-addressed blobs; the document holds their digest."""
MAX_TRANSACTION_WRITES = 500


class StoreError(Exception):
    """A refusal or failure of the store."""


class StoreUnavailable(StoreError):
    """An outage of the store, or no answer before the deadline. Worth a retry."""


class Contention(StoreUnavailable):
    """A transaction that met conflicts in all of its tries. Worth a retry, later."""


class AlreadyExists(StoreError):
    """A `create` of a document that exists."""

    def __init__(self, collection: str, key: str) -> None:
        super().__init__(f"{collection}/{key} exists")
        self.collection, self.key = collection, key


class InvalidDocument(StoreError):
    """A key, a field or a size that Firestore would refuse."""


class UndeclaredIndex(StoreError):
    """A query that no declared index serves."""


class ReadAfterWrite(StoreError):
    """A read after a write in one transaction, which Firestore would refuse."""


Direction = Literal["asc", "desc"]
Comparison = Literal["==", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Index:
    """A composite index: fields compared for equality first, then at most one ordered field."""

    equal: tuple[str, ...] = ()
    order: str | None = None
    direction: Direction = "asc"

    @property
    def fields(self) -> tuple[str, ...]:
        """The equal fields, then the ordered one."""
        return self.equal if self.order is None else (*self.equal, self.order)


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents, with the indexes that its queries use."""

    name: str
    indexes: tuple[Index, ...] = ()
    expires: str | None = None
    """The index field with the microseconds since 1970 after which a document may be deleted.

    Firestore deletes it within days. Earlier deletion, and deletion on other backends, needs a purge."""

    def __hash__(self) -> int:
        return hash(self.name)  # unique, and each write looks some up: hashing many indexes would cost more


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document. `version` grows with each write, without repetition, for compare-and-set."""

    key: str
    body: bytes
    fields: Fields
    version: int


@dataclass(frozen=True, slots=True)
class Bound:
    """An end of the ordered field's range: `Bound(">=", 5)`."""

    comparison: Comparison
    value: str | int


@dataclass(frozen=True, slots=True)
class Query:
    """Documents whose `equal` fields match, ordered by the index's ordered field, then by key.

    `after` is the (ordered value, key) of the last document of the page before. `max_bytes` ends the page before its
    bodies exceed it, with at least one document. So a page with fewer than `limit` documents need not be the last.
    """

    collection: Collection
    equal: Fields = field(default_factory=dict)
    order: str | None = None
    direction: Direction = "asc"
    bounds: tuple[Bound, ...] = ()
    after: tuple[Scalar, str] | None = None
    limit: int = 50
    max_bytes: int | None = None

    def index(self) -> Index:
        """Return the declared index that serves this query. Raises `UndeclaredIndex`."""
        for index in self.collection.indexes:
            if (
                set(index.equal) == set(self.equal)
                and index.order == self.order
                and (self.order is None or index.direction == self.direction)
            ):
                return index
        raise UndeclaredIndex(
            f"{self.collection.name}: no index for equal={sorted(self.equal)} order={self.order} {self.direction}"
        )


DocumentKey = tuple[str, str]
"""Collection name and key."""


@dataclass(frozen=True, slots=True)
class Write:
    """A buffered write. Its collection lets a backend maintain the indexes declared there."""

    kind: Literal["create", "update", "put", "delete"]
    collection: Collection
    key: str
    body: bytes = b""
    fields: Fields = field(default_factory=dict)
    expected_version: int = 0
    """Version that an update expects."""

    @property
    def document_key(self) -> DocumentKey:
        """The collection's name and the key."""
        return (self.collection.name, self.key)


class Transaction(Protocol):
    """Reads come first; writes are buffered and applied together at commit, or not at all."""

    async def get(self, collection: Collection, key: str) -> Document | None:
        """Return the document, or None; at commit it must be unchanged. Raises `ReadAfterWrite`."""

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        """Return the documents in the order of the keys, as `get` of each would, in one call."""

    def create(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        """Write a document that must not exist; if it does, the commit raises `AlreadyExists`."""

    def update(self, collection: Collection, document: Document, body: bytes, fields: Fields) -> None:
        """Replace a document; if its version has changed at commit, the transaction runs again."""

    def put(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        """Write a document whether or not it exists."""

    def delete(self, collection: Collection, key: str) -> None:
        """Remove a document whether or not it exists."""


class Store(Protocol):
    """The records of a service. Any number of processes may share one store."""

    async def get(self, collection: Collection, key: str) -> Document | None:
        """Return the document as last committed, or None."""

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        """Return the documents in the order of the keys."""

    async def query(self, query: Query) -> list[Document]:
        """Return at most `query.limit` documents, and at least one if any matches. Raises `UndeclaredIndex`."""

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run `fn` and commit what it wrote. `fn` may run more than once and has no side effects.

        Raises `AlreadyExists` for a failed create, `Contention` after bounded tries, and what `fn` raises; then
        nothing is written.
        """

    async def ping(self) -> None:
        """Return if the store answers within a few seconds; raise `StoreUnavailable` if not."""

    async def close(self) -> None:
        """Finish running calls, then close files and connections."""


def key_of(record_id: str) -> str:
    """Return a record's key: its id behind a hash, which spreads the writes of ids that sort by time.

    Slashes, which a key may not contain, are escaped; `%` is in no id.
    """
    return f"{sha256_hex(record_id.encode())[:4]}-{record_id.replace('/', '%2F')}"


SPILL_MARK = b"\0"
"""First byte of a body that stands for a blob; no JSON text begins with it."""
SPILL_MARKER = re.compile(rb"\0blob:([0-9a-f]{64}):([0-9]{1,15})")


def is_spilled(document: Document) -> bool:
    """Return whether the body is a marker."""
    return document.body.startswith(SPILL_MARK)


def body_size(document: Document) -> int:
    """Return the size of the body in bytes, also of one that a marker stands for."""
    marker = SPILL_MARKER.fullmatch(document.body) if is_spilled(document) else None
    return len(document.body) if marker is None else int(marker[2])


def limit_bytes(documents: list[Document], max_bytes: int | None) -> list[Document]:
    """Return the first documents whose bodies have at most `max_bytes`, or the first one alone."""
    if max_bytes is None:
        return documents
    total = 0
    for count, document in enumerate(documents):
        total += body_size(document)
        if count and total > max_bytes:
            return documents[:count]
    return documents
