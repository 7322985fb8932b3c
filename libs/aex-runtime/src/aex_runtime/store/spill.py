"""A store that keeps large bodies as content-addressed blobs, with markers in their documents."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from aex_runtime.blobs.port import BlobError, Blobs, BlobUnavailable
from aex_runtime.store import port
from aex_runtime.store.port import Collection, Document, Query, Store, T, Transaction, Write
from aex_runtime.store.transactions import BufferedTransaction

_MAX_CONCURRENT = 16


class SpillingStore:
    """A store that keeps bodies above `SPILL_BYTES` as blobs in `area`. Callers see the bodies only.

    A blob is durable before its document is committed. If that commit fails, the blob remains without a reference.
    """

    def __init__(self, store: Store, blobs: Blobs, area: str = "records") -> None:
        self._store = store
        self._blobs = blobs
        self._area = area

    @property
    def inner_store(self) -> Store:
        """The underlying store, which returns markers in the place of large bodies."""
        return self._store

    async def get(self, collection: Collection, key: str) -> Document | None:
        document = await self._store.get(collection, key)
        return await self._load(collection, document) if document else None

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        return await self._read(self._store, collection, keys)

    async def query_page(self, query: Query) -> list[Document]:
        return await self._load_all(query.collection, await self._store.query_page(query))

    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        async def attempt(inner: Transaction) -> T:
            outer = BufferedTransaction(lambda collection, keys: self._read(inner, collection, keys))
            result = await fn(outer)
            bodies = [await self._spill(write.body) for write in outer.writes]
            for write, body in zip(outer.writes, bodies, strict=True):
                _forward(inner, write, body)
            return result

        return await self._store.transact(attempt)

    async def ping(self) -> None:
        await self._store.ping()  # the blobs have a probe of their own

    async def close(self) -> None:
        await self._store.close()

    async def _read(
        self, source: Store | Transaction, collection: Collection, keys: Sequence[str]
    ) -> list[Document | None]:
        found = await source.get_many(collection, keys)
        loaded = iter(await self._load_all(collection, [document for document in found if document]))
        return [next(loaded) if document else None for document in found]

    async def _load_all(self, collection: Collection, documents: Sequence[Document]) -> list[Document]:
        if not any(map(port.is_spilled, documents)):
            return list(documents)
        limiter = asyncio.Semaphore(_MAX_CONCURRENT)

        async def load(document: Document) -> Document:
            async with limiter:
                return await self._load(collection, document)

        return list(await asyncio.gather(*map(load, documents)))

    async def _load(self, collection: Collection, document: Document) -> Document:
        """Return the document with its body, which is read from the blob store if there is a marker."""
        if not port.is_spilled(document):
            return document
        where = f"{collection.name}/{document.key}"
        marker = port.SPILL_MARKER.fullmatch(document.body)
        if marker is None:
            raise port.StoreError(f"{where}: the body is neither JSON nor the marker of a blob")
        try:  # the port verifies the digest
            body = await self._blobs.get(self._area, marker[1].decode(), max_bytes=int(marker[2]))
        except BlobUnavailable as error:
            raise port.StoreUnavailable(f"{where}: {error}") from error
        except BlobError as error:
            raise port.StoreError(f"{where}: its body is lost: {error}") from error
        return Document(document.key, body, document.fields, document.version)

    async def _spill(self, body: bytes) -> bytes:
        """Return a small body; store a large one as a blob and return its marker."""
        if len(body) <= port.SPILL_BYTES and not body.startswith(port.SPILL_MARK):
            return body
        try:
            blob = await self._blobs.put(self._area, body)
        except BlobUnavailable as error:
            raise port.StoreUnavailable(f"blobs of large records: {error}") from error
        return port.SPILL_MARK + f"blob:{blob.digest}:{blob.size}".encode()


def store_without_body_loading(store: Store) -> Store:
    """Return a store that does not load large bodies: their documents hold markers.

    `body_size` reads the size of a body from its marker.
    """
    return store.inner_store if isinstance(store, SpillingStore) else store


def _forward(inner: Transaction, write: Write, body: bytes) -> None:
    if write.kind == "create":
        inner.create(write.collection, write.key, body, write.fields)
    elif write.kind == "update":
        inner.update(write.collection, Document(write.key, b"", {}, write.expected_version), body, write.fields)
    elif write.kind == "put":
        inner.put(write.collection, write.key, body, write.fields)
    else:
        inner.delete(write.collection, write.key)
