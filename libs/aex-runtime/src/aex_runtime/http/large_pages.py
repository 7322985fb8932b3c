"""Reading and rendering of pages: small ones at once, large ones in threads and in few slots."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from pydantic import BaseModel

from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.store.port import Collection, Document, Store
from aex_runtime.store.spill import body_size, is_spilled, without_loading
from aex_runtime.store.table import Table

SMALL_PAGE_BYTES = 65_536
"""Stored bytes of a page up to which it takes no slot."""
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


class PageReader:
    """Reads the documents of one page, and counts them, in an `async with` block.

    Above `SMALL_PAGE_BYTES` it holds a slot, which it takes before it loads a body, and runs what it is given in
    threads.
    """

    def __init__(self, store: Store, slots: LargePages) -> None:
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
        return None if loaded is None else (await self.run(lambda: table.decode(loaded))).record

    async def run(self, call: Callable[[], T]) -> T:
        """Return the result of the call: in a thread where the page is large."""
        return await asyncio.to_thread(call) if self._is_large else call()
