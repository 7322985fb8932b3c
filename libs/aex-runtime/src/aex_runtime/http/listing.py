"""Lists in the API: pages limited by number and by bytes, rendered as `{items, next_cursor}`."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from fastapi import Response
from pydantic import BaseModel
from pydantic_core import to_json

from aex_runtime.http.large_pages import LongValues, PageReader
from aex_runtime.http.pagination import PageRequest
from aex_runtime.store.port import Bound, Direction, Document, Fields, Query, Scalar, Store, body_size
from aex_runtime.store.table import Table

MAX_PAGE_BYTES = 1_048_576
"""The most stored bytes of a page, unless its first item alone has more."""
_ROWS = 51
"""Documents that one query reads: a default page, and one more to see whether it is the last."""
M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Position = tuple[Scalar, str]


@dataclass(frozen=True, slots=True)
class Listing(Generic[M]):
    """The definition of a list: its records, and their order.

    The list has the records whose index fields equal one of `sets` and for which `matches` returns True. A record that
    does not match, or is in two sets, is omitted from its page. So a page may have fewer items than its limit.
    """

    table: Table[M]
    sets: Sequence[Fields]
    order: str
    direction: Direction = "desc"
    bounds: tuple[Bound, ...] = ()
    matches: Callable[[M], bool] = field(default=lambda _: True)
    hidden_bytes: int | None = None
    """Bytes that each record counts for parts that its reader may not see; None: the reader sees all.

    It is a constant: otherwise the end of a page would reveal the size of hidden parts. Such records are counted after
    they were rendered.
    """


@dataclass(frozen=True, slots=True)
class Partial(Generic[T]):
    """A rendered record without the parts that the reader may not see.

    The page counts the bytes of the rendered record and the listing's `hidden_bytes`.
    """

    item: T


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """Rendered items, and the position after which more follow; None at the end of the list."""

    items: tuple[T, ...]
    after: Position | None


Render = Callable[[PageReader, M], Awaitable[T | Partial[T]]]
"""Function that renders a record. It reads other records through the page's reader, which counts their bytes."""


async def read_page_as_json(
    store: Store, listing: Listing[M], paging: PageRequest, render: Render[M, dict[str, Any]]
) -> bytes:
    """Read a page of a list and return its JSON: `{items, next_cursor}`.

    Raises `TemporarilyUnavailable` if too many large pages are being read.
    """
    async with PageReader(store, paging.large_pages, LongValues()) as reader:
        page = await _read(reader, listing, paging, render)
        return await encode_page(reader, page, paging)


async def read_page(store: Store, listing: Listing[M], paging: PageRequest, render: Render[M, T]) -> ListPage[T]:
    """Read a page of a list and return its rendered items and position.

    Raises `TemporarilyUnavailable` if too many large pages are being read.
    """
    async with PageReader(store, paging.large_pages) as reader:
        return await _read(reader, listing, paging, render)


async def encode_page(reader: PageReader, page: ListPage[dict[str, Any]], paging: PageRequest) -> bytes:
    """Return the JSON of a page: `{items, next_cursor}`. `reader` is the one that has read it."""
    content = {"items": page.items, "next_cursor": paging.next_cursor(page.after)}
    return await reader.encode_json(content)


def encoded_json_response(content: bytes) -> Response:
    """Return a response with this JSON text as its body."""
    return Response(content, media_type="application/json")


async def _read(reader: PageReader, listing: Listing[M], paging: PageRequest, render: Render[M, T]) -> ListPage[T]:
    items: list[T] = []
    number, size, last = 0, 0, None
    async with aclosing(_merge(reader.unloaded, listing, paging)) as documents:
        async for document in documents:
            stored = body_size(document) if listing.hidden_bytes is None else 0
            if last is not None and (number == paging.limit or size + stored > MAX_PAGE_BYTES):
                return ListPage(tuple(items), last)
            rendered, counted = await _render(reader, listing, document, render)
            size += counted
            if last is not None and size > MAX_PAGE_BYTES:  # with what its rendering read
                return ListPage(tuple(items), last)
            items += rendered
            number, last = number + 1, _position(document, listing.order)
    return ListPage(tuple(items), None)


async def _render(
    reader: PageReader, listing: Listing[M], document: Document, render: Render[M, T]
) -> tuple[tuple[T, ...], int]:
    """Return the rendered record, and the number of bytes by which it counts.

    The tuple is empty if the record was deleted or does not match.
    """
    table, before = listing.table, reader.size
    loaded = await reader.count_and_load_body(table.collection, document)
    if loaded is None:
        return (), listing.hidden_bytes or 0
    record, values = await reader.decode_and_extract_long_values(table, loaded)
    if not listing.matches(record):
        reader.free_unused_values(values, b"")
        return (), reader.size - before if listing.hidden_bytes is None else listing.hidden_bytes
    rendered = await render(reader, record)
    if not isinstance(rendered, Partial):
        return (rendered,), reader.size - before
    content = await reader.run_in_thread_if_large(lambda: to_json(rendered.item))
    reader.free_unused_values(values, content)
    return (rendered.item,), (listing.hidden_bytes or 0) + reader.restored_json_size(content)


async def _merge(store: Store, listing: Listing[M], paging: PageRequest) -> AsyncGenerator[Document, None]:
    """Yield the documents of all sets in the order of the list, each once."""
    collection, rows = listing.table.collection, min(paging.limit + 1, _ROWS)
    order, direction, bounds = listing.order, listing.direction, listing.bounds
    first = max if direction == "desc" else min
    async with AsyncExitStack() as stack:
        sources = [
            await stack.enter_async_context(aclosing(_documents(store, query)))
            for query in (
                Query(collection, each, order, direction, bounds, paging.after, rows) for each in listing.sets
            )
        ]
        heads = {at: head for at, each in enumerate(sources) if (head := await anext(each, None))}
        last = None
        while heads:
            at = first(heads, key=lambda each: _position(heads[each], order))
            document, head = heads.pop(at), await anext(sources[at], None)
            if document.key != last:
                yield document
            last = document.key
            heads |= {} if head is None else {at: head}


async def _documents(store: Store, query: Query) -> AsyncGenerator[Document, None]:
    while True:
        page = await store.query_page(query)
        for document in page:
            yield document
        if len(page) < query.limit:
            return
        query = replace(query, after=_position(page[-1], query.order or ""))


def _position(document: Document, order: str) -> Any:
    return document.fields[order], document.key
