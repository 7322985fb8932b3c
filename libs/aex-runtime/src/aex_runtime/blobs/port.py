"""Content-addressed bytes. An area is a prefix with its own permissions (`evaluation`, `records`, `data`,
`artifacts`)."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Protocol


class BlobError(Exception):
    """The blob store refused or failed."""


class BlobUnavailable(BlobError):
    """It cannot be reached. Worth a retry."""


class BlobMissing(BlobError):
    """No blob has this digest."""


class BlobCorrupt(BlobError):
    """The bytes do not have the digest that names them."""


class BlobTooLarge(BlobError):
    """More bytes than the caller allows."""


@dataclass(frozen=True, slots=True)
class BlobRef:
    """SHA-256 (lower-case hexadecimal) and size in bytes."""

    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class BlobReading:
    """A blob on its way out: its size in bytes, and its pieces, to be read once and closed."""

    size: int
    pieces: AsyncGenerator[bytes, None]
    """The last one comes only once the digest of all was verified, so that nobody has the whole of what is none:
    raises `BlobCorrupt` in its place, and `BlobUnavailable` where the store fails on the way."""


class Blobs(Protocol):
    """Where large and secret bytes lie."""

    async def put(self, area: str, content: bytes) -> BlobRef:
        """Store bytes under their digest; the same bytes twice are stored once."""
        ...

    async def put_stream(self, area: str, chunks: AsyncIterator[bytes], max_bytes: int) -> BlobRef:
        """Store a stream. Raises `BlobTooLarge` past `max_bytes`, and then keeps nothing."""
        ...

    async def get(self, area: str, digest: str, max_bytes: int | None = None) -> bytes:
        """The bytes, their digest verified. Raises `BlobMissing`, `BlobCorrupt`, `BlobTooLarge`."""
        ...

    async def read(self, area: str, digest: str) -> BlobReading:
        """The bytes piece by piece, in constant memory. Raises `BlobMissing` and `BlobUnavailable` before the first."""
        ...

    async def ping(self) -> None:
        """Return where the store answers; raise `BlobUnavailable` where it does not."""
        ...
