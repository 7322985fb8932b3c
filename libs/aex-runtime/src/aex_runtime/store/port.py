"""The record store, shaped for the stricter of its backends (Firestore).

A document is canonical JSON bytes in one unindexed field (`body`) plus declared index fields. Transactions read
before they write, may run again, and lose against whoever changed what they read.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

T = TypeVar("T")
Scalar = str | int | bool | None
Fields = Mapping[str, Scalar]

MAX_DOCUMENT_BYTES = 1_048_576
"""Firestore's limit for one document, counted as Firestore counts: name, fields and body together."""
MAX_VALUE_BYTES = MAX_DOCUMENT_BYTES - 89
"""Firestore's limit for one field; ours holds the body and the index fields."""
MAX_INDEX_ENTRY_BYTES = 7_680
"""Firestore's limit for the fields of one index together, with the document's name."""
MAX_TRANSACTION_BYTES = 10_485_760
"""Firestore's limit for a whole transaction."""
SPILL_BYTES = 65_536
"""Bodies above this size become content-addressed blobs; the document holds their digest."""
MAX_TRANSACTION_WRITES = 500


class StoreError(Exception):
    """The store refused or failed."""


class StoreUnavailable(StoreError):
    """The store cannot be reached, or did not answer before the deadline. Worth a retry."""


class Contention(StoreUnavailable):
    """A transaction lost against others as often as it may. Worth a retry, later."""


class AlreadyExists(StoreError):
    """`create` met a document that is there."""

    def __init__(self, collection: str, key: str) -> None:
        super().__init__(f"{collection}/{key} exists")
        self.collection, self.key = collection, key


class InvalidDocument(StoreError):
    """A key, a field or a size that Firestore would refuse."""


class UndeclaredIndex(StoreError):
    """A query that no declared index serves."""


class ReadAfterWrite(StoreError):
    """A transaction read after it had written; Firestore would refuse it."""


Direction = Literal["asc", "desc"]
Comparison = Literal["==", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Index:
    """A composite index: fields compared for equality first, then at most one ordered field."""

    equal: tuple[str, ...] = ()
    order: str | None = None
    direction: Direction = "asc"


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents with the indexes that its queries use. Declared once, as data."""

    name: str
    indexes: tuple[Index, ...] = ()
    expires: str | None = None
    """The index field with the microseconds since 1970 after which nobody needs a document. Firestore may then delete
    it by itself, days later; whoever wants it gone sooner, or on another backend, purges."""

    def __hash__(self) -> int:
        """By the name alone, which no two have that are in use: each write looks some up, and indexes may be many."""
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class Document:
    """One stored document. `version` grows with each write, is never used again, and serves compare-and-set."""

    key: str
    body: bytes
    fields: Fields
    version: int


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of the ordered field: `Bound(">=", 5)`."""

    comparison: Comparison
    value: str | int


@dataclass(frozen=True, slots=True)
class Query:
    """Documents whose `equal` fields match, ordered by the index's ordered field, then by key.

    `after` is the (ordered value, key) of the last document of the page before.
    """

    collection: Collection
    equal: Fields = field(default_factory=dict)
    order: str | None = None
    direction: Direction = "asc"
    bounds: tuple[Bound, ...] = ()
    after: tuple[Scalar, str] | None = None
    limit: int = 50

    def index(self) -> Index:
        """The declared index that serves this query. Raises `UndeclaredIndex`."""
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


class Transaction(Protocol):
    """Reads come first; writes are buffered and applied together at commit, or not at all."""

    async def get(self, collection: Collection, key: str) -> Document | None:
        """The document, or None. What was read must still be so at commit. Raises `ReadAfterWrite`."""
        ...

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        """The documents in the order of the keys, in one call. Like `get` of each."""
        ...

    def create(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        """Write a document that must not exist; at commit, one that does raises `AlreadyExists`."""
        ...

    def update(self, collection: Collection, seen: Document, body: bytes, fields: Fields) -> None:
        """Replace a document; where its version is no longer that of `seen`, the transaction runs again."""
        ...

    def put(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        """Write a document whether or not it exists."""
        ...

    def delete(self, collection: Collection, key: str) -> None:
        """Remove a document whether or not it exists."""
        ...


class Store(Protocol):
    """Where a service keeps its records. Any number of processes may share one store."""

    async def get(self, collection: Collection, key: str) -> Document | None:
        """The document as last committed, or None."""
        ...

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        """The documents in the order of the keys."""
        ...

    async def query(self, query: Query) -> list[Document]:
        """At most `query.limit` documents. Raises `UndeclaredIndex`."""
        ...

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run `fn` and commit what it wrote. `fn` may run more than once and has no side effects.

        Raises `AlreadyExists` for a failed create, `Contention` after bounded tries, and whatever `fn` raises
        (then nothing is written).
        """
        ...

    async def ping(self) -> None:
        """Return where the store answers; raise `StoreUnavailable` within a few seconds where it does not."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of files and connections."""
        ...
