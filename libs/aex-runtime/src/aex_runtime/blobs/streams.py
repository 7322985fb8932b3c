"""Digests of byte streams, computed without blocking the event loop."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from aex_runtime.blobs.port import BlobCorrupt, BlobRef, BlobTooLarge

_INLINE_BYTES = 262_144
"""Bytes up to which hashing takes less time than passing them to a thread."""


async def compute_digest(content: bytes) -> str:
    """Return the SHA-256 of bytes in lower-case hexadecimal; large ones are hashed in a thread."""
    hashed = hashlib.sha256()
    await _update(hashed, content)
    return hashed.hexdigest()


async def _update(hashed: "hashlib._Hash", content: bytes) -> None:
    if len(content) > _INLINE_BYTES:
        await asyncio.to_thread(hashed.update, content)
    else:
        hashed.update(content)


class Meter:
    """Counts and hashes the bytes of a stream while they pass, and ends it above `max_bytes`."""

    def __init__(self, chunks: AsyncIterator[bytes], max_bytes: int) -> None:
        self._source = chunks
        self._max_bytes = max_bytes
        self._hash = hashlib.sha256()
        self.size = 0
        """Bytes that have passed so far."""
        self.failure: Exception | None = None
        """The error that ended the stream: that of the source, or `BlobTooLarge`."""

    async def iterate_and_measure_chunks(self) -> AsyncIterator[bytes]:
        """Yield the chunks of the source, and count and hash their bytes.

        Raises the errors of the source, and `BlobTooLarge` above `max_bytes`.
        """
        try:
            async for chunk in self._source:
                self._count(len(chunk))
                await _update(self._hash, chunk)
                yield chunk
        except Exception as error:
            self.failure = error
            raise

    def _count(self, size: int) -> None:
        self.size += size
        if self.size > self._max_bytes:
            raise BlobTooLarge(f"more than {self._max_bytes} bytes")

    def blob_ref(self) -> BlobRef:
        """Return the digest and the size of the bytes that have passed so far."""
        return BlobRef(self._hash.hexdigest(), self.size)


PIECE = 1_048_576
"""The most bytes of a piece."""


async def iterate_verified_pieces(
    path: str, digest: str, size: int, first: bytes, fetch: Callable[[int], Awaitable[bytes]]
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a blob in non-empty pieces, and check their digest before the last piece.

    `first` are its leading bytes; `fetch` returns some bytes from a position on. Raises `BlobCorrupt` in place of the
    last piece, and what `fetch` raises.
    """
    hashed = hashlib.sha256()
    held = b""
    fetched, position = first, 0
    while fetched:
        await _update(hashed, fetched)
        for start in range(0, len(fetched), PIECE):
            if held:
                yield held
            held = fetched[start : start + PIECE]
        position += len(fetched)
        fetched = await fetch(position) if position < size else b""
    if position != size or hashed.hexdigest() != digest:
        raise BlobCorrupt(f"{path}: the bytes have another digest")
    if held:
        yield held
