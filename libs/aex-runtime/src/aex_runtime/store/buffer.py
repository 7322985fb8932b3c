"""The buffered transaction that every backend runs: reads remembered, writes gathered."""

from collections.abc import Awaitable, Callable
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

Read = Callable[[Collection, str], Awaitable[Document | None]]


@dataclass(frozen=True, slots=True)
class Write:
    """One buffered write. `version` is what an update saw."""

    kind: Literal["create", "update", "put", "delete"]
    collection: str
    key: str
    body: bytes = b""
    fields: Fields = field(default_factory=dict)
    version: int | None = None


class BufferedTransaction:
    """Gathers what a transaction read and wants written; the backend commits it."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self.read_versions: dict[tuple[str, str], int] = {}
        self.writes: list[Write] = []

    async def get(self, collection: Collection, key: str) -> Document | None:
        if self.writes:
            raise ReadAfterWrite(f"{collection.name}/{key} was read after a write of the same transaction")
        document = await self._read(collection, key)
        self.read_versions[(collection.name, key)] = document.version if document else 0
        return document

    def create(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        self._add(Write("create", collection.name, key, body, dict(fields)))

    def update(self, collection: Collection, seen: Document, body: bytes, fields: Fields) -> None:
        self.read_versions.setdefault((collection.name, seen.key), seen.version)
        self._add(Write("update", collection.name, seen.key, body, dict(fields), seen.version))

    def put(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        self._add(Write("put", collection.name, key, body, dict(fields)))

    def delete(self, collection: Collection, key: str) -> None:
        self._add(Write("delete", collection.name, key))

    def _add(self, write: Write) -> None:
        if len(self.writes) >= MAX_TRANSACTION_WRITES:
            raise InvalidDocument(f"a transaction writes at most {MAX_TRANSACTION_WRITES} documents")
        self.writes.append(write)
