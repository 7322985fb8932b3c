"""The buffered transaction that every backend runs: reads remembered, writes gathered."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from aex_runtime.store.port import (
    MAX_TRANSACTION_WRITES,
    Collection,
    Document,
    Fields,
    InvalidDocument,
    ReadAfterWrite,
)

Read = Callable[[Collection, Sequence[str]], Awaitable[list[Document | None]]]
Place = tuple[str, str]
"""Collection name and key."""


@dataclass(frozen=True, slots=True)
class Write:
    """One buffered write. It carries its collection, so that a backend can keep the indexes declared there."""

    kind: Literal["create", "update", "put", "delete"]
    collection: Collection
    key: str
    body: bytes = b""
    fields: Fields = field(default_factory=dict)
    seen: int = 0
    """The version that an update saw."""

    @property
    def place(self) -> Place:
        """Where it writes."""
        return (self.collection.name, self.key)


class BufferedTransaction:
    """Gathers what a transaction read and wants written; the backend commits it.

    A document read twice is the same document twice: a transaction sees nothing change under its hands.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._seen: dict[Place, Document | None] = {}
        self.expected: set[tuple[Place, int]] = set()
        """Versions (0: not there) that must still be so at commit. Two of one place can never both be."""
        self.writes: list[Write] = []

    async def get(self, collection: Collection, key: str) -> Document | None:
        return (await self.get_many(collection, (key,)))[0]

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        if self.writes and keys:
            raise ReadAfterWrite(f"{collection.name}/{keys[0]} was read after a write of the same transaction")
        unseen = [key for key in dict.fromkeys(keys) if (collection.name, key) not in self._seen]
        found = await self._read(collection, unseen) if unseen else []
        for key, document in zip(unseen, found, strict=True):
            place = (collection.name, key)
            self._seen[place] = document
            self.expected.add((place, document.version if document else 0))
        return [self._seen[collection.name, key] for key in keys]

    def create(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        self._add(Write("create", collection, key, body, dict(fields)))

    def update(self, collection: Collection, seen: Document, body: bytes, fields: Fields) -> None:
        self.expected.add(((collection.name, seen.key), seen.version))
        self._add(Write("update", collection, seen.key, body, dict(fields), seen.version))

    def put(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        self._add(Write("put", collection, key, body, dict(fields)))

    def delete(self, collection: Collection, key: str) -> None:
        self._add(Write("delete", collection, key))

    @property
    def is_of_one_moment(self) -> bool:
        """At most one document was read and none written: nothing that has changed since can contradict it."""
        return len(self.expected) <= 1 and not self.writes

    def _add(self, write: Write) -> None:
        if len(self.writes) >= MAX_TRANSACTION_WRITES:
            raise InvalidDocument(f"a transaction writes at most {MAX_TRANSACTION_WRITES} documents")
        self.writes.append(write)
