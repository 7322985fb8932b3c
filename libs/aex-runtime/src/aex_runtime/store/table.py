"""Typed collections: the model of their documents, and its indexed fields."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from aex_models.canonical import canonical_bytes
from aex_runtime.store.port import Bound, Collection, Direction, Document, Fields, Query, Scalar, Store, StoreError

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stored(Generic[M]):
    """A record with its document, which a compare-and-set needs."""

    record: M
    document: Document


Position = tuple[Scalar, str]
"""Ordered value and key of a document in its query."""


@dataclass(frozen=True, slots=True)
class ItemPage(Generic[T]):
    """Some items of a list, and the position after the last one (None at the end)."""

    items: Sequence[T]
    next_after: Position | None


ListItems = Callable[[int, Position | None], Awaitable[ItemPage[T]]]
"""Returns a page of at most so many items, after a position."""


async def each_item(list_items: ListItems[T], page_size: int, limit: int | None = None) -> AsyncIterator[T]:
    """Yield the items of all pages, at most `limit`."""
    after: Position | None = None
    count = 0
    while limit is None or count < limit:
        page = await list_items(page_size if limit is None else min(page_size, limit - count), after)
        for item in page.items:
            yield item
        count += len(page.items)
        after = page.next_after
        if after is None:
            return


class RecordOfNewerVersion(StoreError):
    """A record with fields or values that only a newer version knows. Worth a retry, by that version.

    During a rollout both versions run. Ignoring those fields would drop them at the next write. It is no outage that
    ends by itself: work under a lease must end, so that the newer version gets the lease.
    """


UNREADABLE = (ValidationError, RecordOfNewerVersion)
"""The errors of `Table.decode`."""


class Reader(Protocol):
    """A source of documents: the store itself, or a transaction."""

    async def get(self, collection: Collection, key: str) -> Document | None: ...

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]: ...


@dataclass(frozen=True, slots=True)
class Table(Generic[M]):
    """A collection of one model."""

    collection: Collection
    model: type[M]
    index: Callable[[M], Fields] = field(default=lambda _: {})

    async def get(self, reader: Reader, key: str) -> Stored[M] | None:
        """Return the record with this key, or None."""
        document = await reader.get(self.collection, key)
        return self.decode(document) if document else None

    async def get_many(self, reader: Reader, keys: Sequence[str]) -> list[M | None]:
        """Return the records in the order of the keys."""
        return [found.record if found else None for found in await self.get_stored(reader, keys)]

    async def get_stored(self, reader: Reader, keys: Sequence[str]) -> list[Stored[M] | None]:
        """Return the records with their documents, in the order of the keys."""
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
        max_bytes: int | None = None,
    ) -> list[Stored[M]]:
        """Return the records of a query that a declared index serves; see `Query` for `max_bytes`."""
        query = Query(self.collection, equal or {}, order, direction, tuple(bounds), after, limit, max_bytes)
        return [self.decode(document) for document in await store.query(query)]

    def encode(self, record: M) -> tuple[bytes, Fields]:
        """Return a record's body and index fields."""
        return canonical_bytes(record), self.index(record)

    def decode(self, document: Document) -> Stored[M]:
        """Return a document's record. Raises `RecordOfNewerVersion`, `ValidationError`."""
        try:
            return Stored(self.model.model_validate_json(document.body), document)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False)
            if all(map(_is_newer, found)):
                paths = sorted({"/".join(map(str, each["loc"])) for each in found})
                where = f"{self.collection.name}/{document.key}"
                raise RecordOfNewerVersion(f"{where}: this version does not know {', '.join(paths[:10])}") from None
            raise


def _is_newer(error: ErrorDetails) -> bool:
    """Return whether a later version may have added the field or the enumerated value."""
    is_word = isinstance(error["input"], str) and error["input"] != ""
    return error["type"] == "extra_forbidden" or (error["type"] in {"enum", "literal_error"} and is_word)
