"""The port of record stores, with the restrictions of Firestore, the strictest backend.

A document has a body, which is canonical JSON in one unindexed field, and declared index fields. A transaction reads
before it writes. It runs again if a document that it read has changed before its commit.
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
"""Firestore's limit for one document: name, fields and body together, counted by its rules."""
MAX_VALUE_BYTES = MAX_DOCUMENT_BYTES - 89
"""Firestore's limit for one field. Here one field holds the body and the index fields."""
MAX_INDEX_ENTRY_BYTES = 7_680
"""Firestore's limit for one entry of an index: its fields with the document's name."""
MAX_TRANSACTION_BYTES = 10_485_760
"""Firestore's limit for the writes of a transaction together."""
SPILL_BYTES = 65_536
"""Size above which a body is stored as a content-addressed blob; its document then holds the digest."""
MAX_TRANSACTION_WRITES = 500


class StoreError(Exception):
    """A refusal or a failure of the store; base class of its errors."""


class StoreUnavailable(StoreError):
    """An outage of the store, or no answer before the deadline. The caller may retry."""


class Contention(StoreUnavailable):
    """A transaction that met a conflict in each of its tries. The caller may retry later."""


class AlreadyExists(StoreError):
    """The creation of a document that exists already."""

    def __init__(self, collection: str, key: str) -> None:
        super().__init__(f"{collection}/{key} exists")
        self.collection, self.key = collection, key


class InvalidDocument(StoreError):
    """A document with a key, a field or a size that Firestore would refuse."""


class UndeclaredIndex(StoreError):
    """A query that needs an index which its collection does not declare."""


class ReadAfterWrite(StoreError):
    """A read after the first write of a transaction, which Firestore would refuse."""


Direction = Literal["asc", "desc"]
Comparison = Literal["==", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Index:
    """A declared index, for queries by equality of the fields `equal`, ordered by the field `order`."""

    equal: tuple[str, ...] = ()
    order: str | None = None
    direction: Direction = "asc"

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields in the index: those of `equal`, then that of `order`."""
        return self.equal if self.order is None else (*self.equal, self.order)


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents, with the indexes that its queries use."""

    name: str
    indexes: tuple[Index, ...] = ()
    expires: str | None = None
    """Name of the index field with the time after which a document may be deleted, in microseconds since 1970.
    Firestore deletes within days of that time. Other backends do not: that needs a purge."""

    def __hash__(self) -> int:
        return hash(self.name)  # unique, and each write looks some up: hashing many indexes would cost more


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document. `version` grows with each write and is never used twice."""

    key: str
    body: bytes
    fields: Fields
    version: int


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit of the values of a query's ordered field: `Bound(">=", 5)`."""

    comparison: Comparison
    value: str | int


@dataclass(frozen=True, slots=True)
class Query:
    """A request for the documents whose index fields equal `equal`.

    The result is ordered by the field `order`, then by key. `after` continues behind a document: it is the ordered
    value and the key of the last document of the page before. A page ends before its bodies exceed `max_bytes`
    together, but has at least one document. So a page with fewer than `limit` documents need not be the last.
    """

    collection: Collection
    equal: Fields = field(default_factory=dict)
    order: str | None = None
    direction: Direction = "asc"
    bounds: tuple[Bound, ...] = ()
    after: tuple[Scalar, str] | None = None
    limit: int = 50
    max_bytes: int | None = None

    def find_index(self) -> Index:
        """Return the declared index that serves this query. Raises `UndeclaredIndex` if there is none."""
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
"""Name of the collection, and key of the document in it."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write of a transaction, which is applied at the commit."""

    kind: Literal["create", "update", "put", "delete"]
    collection: Collection
    key: str
    body: bytes = b""
    fields: Fields = field(default_factory=dict)
    expected_version: int = 0
    """The version that the document must have at the commit; used by the kind `update` only."""

    @property
    def document_key(self) -> DocumentKey:
        """Name of the collection, and key of the document in it."""
        return (self.collection.name, self.key)


class Transaction(Protocol):
    """The reads and writes that a store commits together, or not at all. All reads precede the writes."""

    async def get(self, collection: Collection, key: str) -> Document | None:
        """Return the document, or None. It must be unchanged at the commit. Raises `ReadAfterWrite`."""

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        """Return the documents in the order of the keys, None for absent ones; otherwise as `get` does."""

    def create(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        """Write a document that must not exist; if it exists, the commit raises `AlreadyExists`."""

    def update(self, collection: Collection, document: Document, body: bytes, fields: Fields) -> None:
        """Replace a document; if it has another version at the commit, the transaction runs again."""

    def put(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        """Write a document, whether or not it exists."""

    def delete(self, collection: Collection, key: str) -> None:
        """Delete a document if it exists."""


class Store(Protocol):
    """The records of a service. Any number of processes may share a store."""

    async def get(self, collection: Collection, key: str) -> Document | None:
        """Return the document as last committed, or None."""

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        """Return the documents as last committed, in the order of the keys, None for absent ones."""

    async def query_page(self, query: Query) -> list[Document]:
        """Return a page of the matches (see `Query`), empty only if there is none. Raises `UndeclaredIndex`."""

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run `fn` and commit its writes; after a conflict run it again. Return its result.

        `fn` must have no other effects, because it may run several times. Raises `AlreadyExists` for the creation of a
        document that exists, `Contention` after the last try, and what `fn` raises. After an error nothing is written.
        """

    async def ping(self) -> None:
        """Return if the store answers within a few seconds; else raise `StoreUnavailable`."""

    async def close(self) -> None:
        """Wait for the running calls, then close files and connections."""


def key_of(record_id: str) -> str:
    """Return the document key for the id of a record: a short hash, a hyphen and the id.

    Ids sort by time; the hash spreads the writes over the key range. A slash, which a key may not contain, becomes
    `%2F`; ids contain no `%`.
    """
    return f"{sha256_hex(record_id.encode())[:4]}-{record_id.replace('/', '%2F')}"


SPILL_MARK = b"\0"
"""First byte of a body that is stored as a blob. No JSON text begins with it."""
SPILL_MARKER = re.compile(rb"\0blob:([0-9a-f]{64}):([0-9]{1,15})")
"""Pattern of the marker that stands for such a body: the digest and the size of the blob."""


def is_spilled(document: Document) -> bool:
    """Return whether the document has a marker in place of its body, which is stored as a blob."""
    return document.body.startswith(SPILL_MARK)


def body_size(document: Document) -> int:
    """Return the size in bytes of the document's body, which may be stored as a blob."""
    marker = SPILL_MARKER.fullmatch(document.body) if is_spilled(document) else None
    return len(document.body) if marker is None else int(marker[2])


def truncate_page(documents: list[Document], max_bytes: int | None) -> list[Document]:
    """Return the first documents whose bodies have at most `max_bytes` (None: no limit), and at least one."""
    if max_bytes is None:
        return documents
    total = 0
    for count, document in enumerate(documents):
        total += body_size(document)
        if count and total > max_bytes:
            return documents[:count]
    return documents
