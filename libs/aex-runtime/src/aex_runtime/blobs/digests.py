"""Digests of bytes on their way, without holding up the event loop."""

import asyncio
import hashlib
from collections.abc import AsyncIterator

from aex_runtime.blobs.port import BlobRef, BlobTooLarge

_INLINE_BYTES = 262_144
"""Up to here hashing takes less than handing it to a thread."""


async def digest_of(content: bytes) -> str:
    """SHA-256 in lower-case hexadecimal."""
    if len(content) <= _INLINE_BYTES:
        return hashlib.sha256(content).hexdigest()
    return (await asyncio.to_thread(hashlib.sha256, content)).hexdigest()


class Meter:
    """Passes a stream on, counts and hashes it, and stops it past `max_bytes`."""

    def __init__(self, chunks: AsyncIterator[bytes], max_bytes: int) -> None:
        self._chunks = chunks
        self._max_bytes = max_bytes
        self._hash = hashlib.sha256()
        self._size = 0
        self.failure: Exception | None = None
        """What ended the stream early: the source's own error, or `BlobTooLarge`."""

    async def metered(self) -> AsyncIterator[bytes]:
        """The same chunks."""
        try:
            async for chunk in self._chunks:
                self._count(len(chunk))
                if len(chunk) > _INLINE_BYTES:
                    await asyncio.to_thread(self._hash.update, chunk)
                else:
                    self._hash.update(chunk)
                yield chunk
        except Exception as error:
            self.failure = error
            raise

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._max_bytes:
            raise BlobTooLarge(f"more than {self._max_bytes} bytes")

    def ref(self) -> BlobRef:
        """Digest and size of what has passed."""
        return BlobRef(self._hash.hexdigest(), self._size)
