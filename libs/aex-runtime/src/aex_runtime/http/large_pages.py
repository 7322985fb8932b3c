"""Reading and rendering of pages of lists: large ones in threads, and a few at a time."""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.http.long_values import find_long_values
from aex_runtime.store.port import Collection, Document, Store, body_size, is_spilled
from aex_runtime.store.spill import store_without_body_loading
from aex_runtime.store.table import UNREADABLE, Table

SMALL_PAGE_BYTES = 65_536
"""Stored bytes up to which a page is small and takes no slot."""
_NUMBER_DIGITS = 8
MAX_LARGE_PAGES, MAX_WAIT_S, RETRY_AFTER_S = 4, 5.0, 1
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class LargePages:
    """The limits of a process on large pages: slots, which bound their memory, and one thread at a time.

    Computing threads hold the interpreter lock for up to 5 ms each, in turn. The event loop would wait for all of them.
    """

    def __init__(self, slots: int = MAX_LARGE_PAGES, wait_s: float = MAX_WAIT_S) -> None:
        self._semaphore = asyncio.Semaphore(slots)
        self._computing = asyncio.Lock()
        self._slots, self._wait_s = slots, wait_s

    async def acquire_slot(self) -> None:
        """Wait for a slot. Raises `TemporarilyUnavailable` if none becomes free within `wait_s`."""
        try:
            async with asyncio.timeout(self._wait_s):
                await self._semaphore.acquire()
        except TimeoutError:
            message = f"this instance already reads its maximum of {self._slots} large pages of lists"
            message += f"; retry after {RETRY_AFTER_S} s, or with a smaller limit"
            raise TemporarilyUnavailable("lists_busy", message, retry_after_s=RETRY_AFTER_S) from None

    def release_slot(self) -> None:
        """Return a slot."""
        self._semaphore.release()

    async def compute_in_thread(self, call: Callable[[], T]) -> T:
        """Run `call` in a thread, once the calls of other large pages have ended, and return its result."""
        async with self._computing:
            return await asyncio.to_thread(call)


class LongValues:
    """The long values of stored bodies, kept apart while a page is rendered.

    These are long strings, long lists of strings, and all parts of a long object or array in an opaque field.
    Parsing and encoding megabytes would block other requests for many milliseconds. So a placeholder stands for them
    meanwhile. A placeholder is valid base64, because models check fields that hold files.
    """

    def __init__(self) -> None:
        self._token = secrets.token_hex(16)  # that no body holds
        self._values: list[memoryview] = []
        self._members: set[int] = set()
        """Numbers of the values that are members of an object, whose placeholder is a member with the value 0."""

    def replace_by_placeholders(self, body: bytes, opaque_fields: frozenset[str] = frozenset()) -> bytes:
        """Keep the long values of a JSON text and return the text with placeholders for them."""
        pieces, position = list[bytes](), 0
        for start, end, is_object in find_long_values(body, opaque_fields):
            number = len(self._values)
            pieces += [body[position:start], self._build_placeholder(number), b":0" if is_object else b""]
            self._values.append(memoryview(body)[start:end])
            self._members |= {number} if is_object else set()
            position = end
        return b"".join((*pieces, body[position:])) if pieces else body

    def restore_values(self, content: bytes) -> bytes:
        """Return the JSON text with the kept values in place of their placeholders."""
        return b"".join(self._pieces(content))

    def restored_size(self, content: bytes) -> int:
        """Return how many bytes the JSON text has with the kept values in place of their placeholders."""
        return sum(map(len, self._pieces(content)))

    @property
    def count(self) -> int:
        """Number of values kept so far. They are numbered from 0 in this order."""
        return len(self._values)

    def free_unused(self, numbers: range, content: bytes) -> None:
        """Free the memory of the values with these numbers, unless the JSON text has their placeholders."""
        for number in numbers:
            if self._build_placeholder(number) not in content:
                self._values[number] = memoryview(b"")

    def _build_placeholder(self, number: int) -> bytes:
        return f'"{self._token}{number:0{_NUMBER_DIGITS}}"'.encode()

    def _pieces(self, content: bytes) -> Iterator[bytes | memoryview]:
        first, *others = content.split(f'"{self._token}'.encode())
        yield first
        for each in others:
            number = int(each[:_NUMBER_DIGITS])
            yield self._values[number]
            yield each[_NUMBER_DIGITS + (3 if number in self._members else 1) :]


class PageReader:
    """Reads the records of one page in an `async with` block, and counts their bytes.

    Once the page has more than `SMALL_PAGE_BYTES`, the reader holds a slot, and it decodes and encodes in threads.
    """

    def __init__(self, store: Store, slots: LargePages, values: LongValues | None = None) -> None:
        """Create a reader.

        `values` keeps the long values of all records apart. Pass it only if rendering copies them unchanged.
        """
        self._values = values
        self.unloaded = store_without_body_loading(store)
        self._store, self._slots = store, slots
        self._is_large = False
        self.size = 0
        """Bytes of all bodies counted so far."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_large:
            self._slots.release_slot()

    async def count_bytes_and_acquire_slot_if_large(self, size: int) -> None:
        """Add bytes to the page; take a slot when it becomes large.

        Raises `TemporarilyUnavailable` if no slot becomes free.
        """
        self.size += size
        if self.size > SMALL_PAGE_BYTES and not self._is_large:
            await self._slots.acquire_slot()
            self._is_large = True

    async def count_and_load_body(self, collection: Collection, document: Document) -> Document | None:
        """Count a document's body and return the document with it; None if it was deleted meanwhile.

        The document comes from `unloaded`, the store without large bodies.
        """
        await self.count_bytes_and_acquire_slot_if_large(body_size(document))
        return await self._store.get(collection, document.key) if is_spilled(document) else document

    async def count_and_load_record(self, table: Table[M], key: str) -> M | None:
        """Read and count the record with this key; return None if there is none."""
        document = await self.unloaded.get(table.collection, key)
        loaded = None if document is None else await self.count_and_load_body(table.collection, document)
        return None if loaded is None else await self.decode_record(table, loaded)

    async def decode_record(self, table: Table[M], document: Document) -> M:
        """Return the record of a loaded document; in a thread if the page is large."""
        return (await self.decode_and_extract_long_values(table, document))[0]

    async def decode_and_extract_long_values(self, table: Table[M], document: Document) -> tuple[M, range]:
        """Return the record of a loaded document, and the numbers of its long values that are kept apart."""
        values = self._values
        if values is None:
            return await self.run_in_thread_if_large(lambda: table.decode(document).record), range(0)

        def decode() -> tuple[M, range]:
            first = values.count
            body = values.replace_by_placeholders(document.body, table.opaque_fields)
            numbers = range(first, values.count)
            try:
                return table.decode(replace(document, body=body)).record, numbers
            except UNREADABLE:  # a list whose strings must have a form that a placeholder lacks
                values.free_unused(numbers, b"")
                return table.decode(document).record, range(0)

        return await self.run_in_thread_if_large(decode)

    def free_unused_values(self, numbers: range, rendered_json: bytes) -> None:
        """Free the memory of the values with these numbers that a record's rendered JSON does not use."""
        if self._values is not None:
            self._values.free_unused(numbers, rendered_json)

    def restored_json_size(self, content: bytes) -> int:
        """Return how many bytes a record's rendered JSON has with its long values."""
        return len(content) if self._values is None else self._values.restored_size(content)

    async def encode_json(self, content: Any) -> bytes:
        """Return the JSON of the rendered page, with the long values; in a thread if the page is large."""

        def encode() -> bytes:
            encoded = to_json(content)
            return encoded if self._values is None else self._values.restore_values(encoded)

        return await self.run_in_thread_if_large(encode)

    async def run_in_thread_if_large(self, call: Callable[[], T]) -> T:
        """Return the result of `call`, which runs in a thread if the page is large."""
        return await self._slots.compute_in_thread(call) if self._is_large else call()
