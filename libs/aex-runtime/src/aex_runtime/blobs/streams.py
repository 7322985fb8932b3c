"""Streams of bytes with their digests, computed without blocking the event loop."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from aex_runtime.blobs.port import BlobCorrupt, BlobRef, BlobTooLarge

_INLINE_BYTES = 262_144
"""Up to this size hashing takes less time than a change of threads."""


async def digest_of(content: bytes) -> str:
    """Return the SHA-256 in lower-case hexadecimal."""
    hashed = hashlib.sha256()
    await _update(hashed, content)
    return hashed.hexdigest()


async def _update(hashed: "hashlib._Hash", content: bytes) -> None:
    if len(content) > _INLINE_BYTES:
        await asyncio.to_thread(hashed.update, content)
    else:
        hashed.update(content)


class Meter:
    """A stream that is counted and hashed, and ends above `max_bytes`."""

    def __init__(self, chunks: AsyncIterator[bytes], max_bytes: int) -> None:
        self._source = chunks
        self._max_bytes = max_bytes
        self._hash = hashlib.sha256()
        self.size = 0
        """Bytes so far."""
        self.failure: Exception | None = None
        """The error of the source, or `BlobTooLarge`."""

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the chunks of the source. Raises its errors and `BlobTooLarge`."""
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

    def ref(self) -> BlobRef:
        """Return digest and size of the bytes so far."""
        return BlobRef(self._hash.hexdigest(), self.size)


PIECE = 1_048_576


async def verified_pieces(
    path: str, digest: str, size: int, first: bytes, fetch: Callable[[int], Awaitable[bytes]]
) -> AsyncGenerator[bytes, None]:
    """Yield non-empty pieces of at most `PIECE` bytes. `fetch` returns bytes from a position on.

    Raises `BlobCorrupt` instead of the last piece, and what `fetch` raises.
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
