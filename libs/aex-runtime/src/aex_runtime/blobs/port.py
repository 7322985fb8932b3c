"""The port of content-addressed bytes. An area (`records`, `data`, …) has its own permissions."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Protocol


class BlobError(Exception):
    """A refusal or failure of the blob store."""


class BlobUnavailable(BlobError):
    """An outage of the blob store. Worth a retry."""


class BlobMissing(BlobError):
    """A digest without a blob."""


class BlobCorrupt(BlobError):
    """A blob whose bytes do not have its digest."""


class BlobTooLarge(BlobError):
    """A blob above the caller's limit."""


@dataclass(frozen=True, slots=True)
class BlobRef:
    """SHA-256 (lower-case hexadecimal) and size in bytes."""

    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class BlobReading:
    """A blob being read: its size in bytes, and its pieces, to be read once and closed."""

    size: int
    pieces: AsyncGenerator[bytes, None]
    """The last piece is preceded by the check of the digest: raises `BlobCorrupt` instead of it, and
    `BlobUnavailable` if the store fails."""


class Blobs(Protocol):
    """A store of large and secret bytes."""

    async def put(self, area: str, content: bytes) -> BlobRef:
        """Store bytes under their digest; the same bytes twice are stored once."""

    async def put_stream(self, area: str, chunks: AsyncIterator[bytes], max_bytes: int) -> BlobRef:
        """Store a stream. Raises `BlobTooLarge` past `max_bytes`, and then keeps nothing."""

    async def get(self, area: str, digest: str, max_bytes: int | None = None) -> bytes:
        """Return the bytes with a verified digest. Raises `BlobMissing`, `BlobCorrupt`, `BlobTooLarge`."""

    async def read(self, area: str, digest: str) -> BlobReading:
        """Return the pieces of a blob, read in constant memory. Raises `BlobMissing`, `BlobUnavailable`."""

    async def ping(self) -> None:
        """Return if the store answers; raise `BlobUnavailable` if not."""
