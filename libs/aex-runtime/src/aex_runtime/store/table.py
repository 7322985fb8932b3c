"""Typed collections: which model a document holds, and which of its fields are indexed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from aex_models.canonical import canonical_bytes
from aex_runtime.store.port import (
    Bound,
    Collection,
    Direction,
    Document,
    Fields,
    Query,
    Scalar,
    Store,
    StoreError,
)

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Stored(Generic[M]):
    """A record as it was read, with the document that a compare-and-set needs."""

    record: M
    document: Document


class RecordOfNewerVersion(StoreError):
    """The record has fields or words that this version does not know. Worth a retry: by then a newer one may answer.
    No outage, though, that ends by itself: what runs under a lease ends with it, and the lease is free for others.

    While one version takes over from another both run. Read without those fields, the record would be written back
    without them, too.
    """


UNREADABLE = (ValidationError, RecordOfNewerVersion)
"""What `Table.decode` raises: for those who look through records that anybody may have written to."""


class Reader(Protocol):
    """What a record can be read from: the store itself, or a transaction."""

    async def get(self, collection: Collection, key: str) -> Document | None: ...

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]: ...


def _nothing(_: BaseModel) -> Fields:
    return {}


@dataclass(frozen=True, slots=True)
class Table(Generic[M]):
    """A collection of one model."""

    collection: Collection
    model: type[M]
    index: Callable[[M], Fields] = _nothing
    """The declared index fields of a record."""

    async def get(self, reader: Reader, key: str) -> Stored[M] | None:
        """The record with this key, or None."""
        document = await reader.get(self.collection, key)
        return self.decode(document) if document else None

    async def get_many(self, reader: Reader, keys: Sequence[str]) -> list[M | None]:
        """The records in the order of the keys."""
        return [found.record if found else None for found in await self.get_stored(reader, keys)]

    async def get_stored(self, reader: Reader, keys: Sequence[str]) -> list[Stored[M] | None]:
        """The same with the documents that a compare-and-set needs."""
        found = await reader.get_many(self.collection, keys)
        return [self.decode(document) if document else None for document in found]

    async def find(
        self,
        store: Store,
        equal: Fields | None = None,
        order: str | None = None,
        direction: Direction = "asc",
        bounds: Sequence[Bound] = (),
        after: tuple[Scalar, str] | None = None,
        limit: int = 50,
    ) -> list[Stored[M]]:
        """The records of a query that a declared index serves."""
        query = Query(self.collection, equal or {}, order, direction, tuple(bounds), after, limit)
        return [self.decode(document) for document in await store.query(query)]

    def encode(self, record: M) -> tuple[bytes, Fields]:
        """A record as body and index fields."""
        return canonical_bytes(record), self.index(record)

    def decode(self, document: Document) -> Stored[M]:
        """A document as a record. Raises `RecordOfNewerVersion`, and `ValidationError` for what is no record at all."""
        try:
            return Stored(self.model.model_validate_json(document.body), document)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False)
            if all(map(_is_newer, found)):
                places = sorted({"/".join(map(str, each["loc"])) for each in found})
                where = f"{self.collection.name}/{document.key}"
                raise RecordOfNewerVersion(f"{where}: this version does not know {', '.join(places[:10])}") from None
            raise


def _is_newer(found: ErrorDetails) -> bool:
    """Whether pydantic says so of a field, or of a word, that a later version may have added."""
    is_word = isinstance(found["input"], str) and found["input"] != ""
    return found["type"] == "extra_forbidden" or (found["type"] in {"enum", "literal_error"} and is_word)
