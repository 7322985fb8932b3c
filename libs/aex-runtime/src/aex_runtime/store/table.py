"""Typed collections: records as pydantic models, encoded as documents with index fields."""

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
    """A record with the document that it was read from, whose version an update requires."""

    record: M
    document: Document


Position = tuple[Scalar, str]
"""Place of a document in a query's result: its ordered value and its key."""


@dataclass(frozen=True, slots=True)
class ItemPage(Generic[T]):
    """Part of a list, and the position of its last item; None if nothing follows."""

    items: Sequence[T]
    next_after: Position | None


ListItems = Callable[[int, Position | None], Awaitable[ItemPage[T]]]
"""Function that returns a page: at most so many items, after a position (None: from the start)."""


async def iterate_items(list_items: ListItems[T], page_size: int, limit: int | None = None) -> AsyncIterator[T]:
    """Yield the items of all pages in order, at most `limit` in total; the pages are read one by one."""
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
    """A record with fields or values that only a newer version of the software knows.

    Both versions run while one replaces the other. An old process that ignored the fields would drop them at its next
    write. The caller may retry, in the hope of a process of the newer version. This outage does not end by itself in
    one process: work under a lease must stop, so that another process gets the lease.
    """


UNREADABLE = (ValidationError, RecordOfNewerVersion)
"""The errors that `Table.decode` raises."""


class Reader(Protocol):
    """The methods by which a table reads documents; a store and a transaction have them."""

    async def get(self, collection: Collection, key: str) -> Document | None: ...

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]: ...


@dataclass(frozen=True, slots=True)
class Table(Generic[M]):
    """A collection whose documents hold records of one model. `index` returns a record's index fields."""

    collection: Collection
    model: type[M]
    index: Callable[[M], Fields] = field(default=lambda _: {})
    opaque_fields: frozenset[str] = frozenset()
    """Names of fields, at any depth, whose values lists copy unchanged. Lists do not parse the long ones."""

    async def get(self, reader: Reader, key: str) -> Stored[M] | None:
        """Return the record with this key and its document, or None. Raises as `decode` does."""
        document = await reader.get(self.collection, key)
        return self.decode(document) if document else None

    async def get_many(self, reader: Reader, keys: Sequence[str]) -> list[M | None]:
        """Return the records in the order of the keys, None for absent ones."""
        return [found.record if found else None for found in await self.get_many_stored(reader, keys)]

    async def get_many_stored(self, reader: Reader, keys: Sequence[str]) -> list[Stored[M] | None]:
        """Return the records and their documents in the order of the keys, None for absent ones."""
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
        """Return one page of the records that a query matches, with their documents; see `Query`."""
        query = Query(self.collection, equal or {}, order, direction, tuple(bounds), after, limit, max_bytes)
        return [self.decode(document) for document in await store.query_page(query)]

    def encode(self, record: M) -> tuple[bytes, Fields]:
        """Return the body and the index fields of a record's document."""
        return canonical_bytes(record), self.index(record)

    def decode(self, document: Document) -> Stored[M]:
        """Return the record that a document holds. Raises `RecordOfNewerVersion`, `ValidationError`."""
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
    """Return whether a newer version may have added the field or the enumerated value at fault."""
    is_word = isinstance(error["input"], str) and error["input"] != ""
    return error["type"] == "extra_forbidden" or (error["type"] in {"enum", "literal_error"} and is_word)
