"""Reading and rendering of pages: small ones at once, large ones in threads and in few slots."""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.store.port import Collection, Document, Store, body_size, is_spilled
from aex_runtime.store.spill import without_loading
from aex_runtime.store.table import Table

SMALL_PAGE_BYTES = 65_536
"""Stored bytes of a page up to which it takes no slot."""
LONG_STRING_BYTES = 16_384
"""Length of strings that are not parsed: above that of every text that a model limits."""
_MAX_QUOTES = 40_000
"""Quotation marks of a body that are looked at: more are parsed faster than they are searched."""
MAX_LARGE_PAGES, MAX_WAIT_S, RETRY_AFTER_S = 4, 5.0, 1
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class LargePages:
    """Slots of a process, each for a page above `SMALL_PAGE_BYTES`: these bound its memory."""

    def __init__(self, slots: int = MAX_LARGE_PAGES, wait_s: float = MAX_WAIT_S) -> None:
        self._semaphore = asyncio.Semaphore(slots)
        self._slots, self._wait_s = slots, wait_s

    async def acquire(self) -> None:
        """Take a slot. Raises `TemporarilyUnavailable` where none is free within `wait_s`."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._semaphore.acquire()
        except TimeoutError:
            message = f"this instance already reads its maximum of {self._slots} large pages of lists"
            message += f"; retry after {RETRY_AFTER_S} s, or with a smaller limit"
            raise TemporarilyUnavailable("lists_busy", message, retry_after_s=RETRY_AFTER_S) from None

    def release(self) -> None:
        """Free a slot."""
        self._semaphore.release()


class LongStrings:
    """Long strings of stored bodies, which placeholders stand for while a page is rendered.

    To parse and to encode a text of megabytes takes the interpreter for many milliseconds, in which no other request
    is answered.
    """

    def __init__(self) -> None:
        self._token = secrets.token_hex(16)  # that no body holds
        self._strings: list[memoryview] = []

    def take_from(self, body: bytes) -> bytes:
        """Return the JSON with a placeholder for each long string."""
        pieces, position = list[bytes](), 0
        for start, end in _long_strings(body):
            pieces += [body[position:start], b'"%s-%d"' % (self._token.encode(), len(self._strings))]
            self._strings.append(memoryview(body)[start:end])
            position = end
        return b"".join((*pieces, body[position:])) if pieces else body

    def put_into(self, content: bytes) -> bytes:
        """Return the JSON with the strings in their places."""
        first, *others = content.split(b'"%s-' % self._token.encode())
        pieces: list[bytes | memoryview] = [first]
        for each in others:
            number, _, rest = each.partition(b'"')
            pieces += [self._strings[int(number)], rest]
        return b"".join(pieces)


def _long_strings(body: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of the long strings of a JSON text, up to a number of quotation marks."""
    start: int | None = None
    position = 0
    for _ in range(_MAX_QUOTES if len(body) > LONG_STRING_BYTES else 0):
        quote = body.find(b'"', position)
        if quote < 0:
            return
        position = quote + 1
        if start is None:
            start = quote
        elif not _is_escaped(body, quote):
            if position - start > LONG_STRING_BYTES:
                yield start, position
            start = None


def _is_escaped(body: bytes, quote: int) -> bool:
    first = quote
    while body[first - 1] == ord("\\"):
        first -= 1
    return (quote - first) % 2 == 1


class PageReader:
    """Reads the documents of one page, and counts them, in an `async with` block.

    Above `SMALL_PAGE_BYTES` it holds a slot, which it takes before it loads a body, and runs what it is given in
    threads.
    """

    def __init__(self, store: Store, slots: LargePages, strings: LongStrings | None = None) -> None:
        """`strings` takes the long strings of all records: for rendering that passes them on as they are."""
        self._strings = strings
        self.unloaded = without_loading(store)
        self._store, self._slots = store, slots
        self._is_large = False
        self.size = 0
        """Bytes of all bodies so far."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_large:
            self._slots.release()

    async def count(self, size: int) -> None:
        """Count bytes of the page. Raises `TemporarilyUnavailable` where that takes a slot and none is free."""
        self.size += size
        if self.size > SMALL_PAGE_BYTES and not self._is_large:
            await self._slots.acquire()
            self._is_large = True

    async def load(self, collection: Collection, document: Document) -> Document | None:
        """Return a document of `unloaded` with its body; None if it was deleted since."""
        await self.count(body_size(document))
        return await self._store.get(collection, document.key) if is_spilled(document) else document

    async def find(self, table: Table[M], key: str) -> M | None:
        """Return the record with this key, or None."""
        document = await self.unloaded.get(table.collection, key)
        loaded = None if document is None else await self.load(table.collection, document)
        return None if loaded is None else await self.decode(table, loaded)

    async def decode(self, table: Table[M], document: Document) -> M:
        """Return the record of a loaded document."""

        def decode() -> M:
            body = document.body if self._strings is None else self._strings.take_from(document.body)
            return table.decode(replace(document, body=body)).record

        return await self.run(decode)

    async def encode(self, content: Any) -> bytes:
        """Return the JSON of the rendered page."""

        def encode() -> bytes:
            encoded = to_json(content)
            return encoded if self._strings is None else self._strings.put_into(encoded)

        return await self.run(encode)

    async def run(self, call: Callable[[], T]) -> T:
        """Return the result of the call: in a thread where the page is large."""
        return await asyncio.to_thread(call) if self._is_large else call()
