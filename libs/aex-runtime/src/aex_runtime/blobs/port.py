"""The port of blob stores: bytes stored under their digest, in areas with separate permissions."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Protocol


class BlobError(Exception):
    """A refusal or a failure of the blob store; base class of its errors."""


class BlobUnavailable(BlobError):
    """An outage of the blob store. The caller may retry."""


class BlobMissing(BlobError):
    """A digest for which there is no blob."""


class BlobCorrupt(BlobError):
    """A blob whose bytes do not have its digest."""


class BlobTooLarge(BlobError):
    """A blob above the caller's limit."""


@dataclass(frozen=True, slots=True)
class BlobRef:
    """The name of a blob: its SHA-256 in lower-case hexadecimal, and its size in bytes."""

    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class BlobReading:
    """A blob that is being read: its size in bytes, and its pieces."""

    size: int
    pieces: AsyncGenerator[bytes, None]
    """Read it once, to its end, and close it. The digest is checked before the last piece.

    Raises `BlobCorrupt` in place of the last piece, and `BlobUnavailable` if the store fails.
    """


class Blobs(Protocol):
    """A store of large or secret bytes, addressed by area (such as `records`) and digest."""

    async def put(self, area: str, content: bytes) -> BlobRef:
        """Store bytes durably under their digest. Equal bytes are stored once. Raises `BlobUnavailable`."""

    async def put_stream(self, area: str, chunks: AsyncIterator[bytes], max_bytes: int) -> BlobRef:
        """Store the bytes of a stream durably. Raises what `chunks` raise, and `BlobUnavailable`.

        Raises `BlobTooLarge` above `max_bytes`. After an error nothing is kept.
        """

    async def get(self, area: str, digest: str, max_bytes: int | None = None) -> bytes:
        """Return the bytes of a blob, after a check of their digest.

        Raises `BlobMissing`, `BlobCorrupt`, `BlobUnavailable`, and `BlobTooLarge` above `max_bytes`.
        """

    async def read(self, area: str, digest: str) -> BlobReading:
        """Open a blob for reading piece by piece, in constant memory. Raises `BlobMissing`, `BlobUnavailable`."""

    async def ping(self) -> None:
        """Return if the store answers within a few seconds; else raise `BlobUnavailable`."""
