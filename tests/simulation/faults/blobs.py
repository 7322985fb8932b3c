"""Blobs that cannot be reached now and then."""

from collections.abc import AsyncIterator

from aex_runtime.blobs.port import BlobReading, BlobRef, Blobs, BlobUnavailable
from tests.simulation.faults.fate import Fate


class FaultyBlobs:
    """Blobs with outages; a put may succeed although its caller gets an error."""

    def __init__(self, fate: Fate, blobs: Blobs) -> None:
        self._fate = fate
        self._blobs = blobs

    async def put(self, area: str, content: bytes) -> BlobRef:
        self._reached()
        reference = await self._blobs.put(area, content)
        self._reached()
        return reference

    async def put_stream(self, area: str, chunks: AsyncIterator[bytes], max_bytes: int) -> BlobRef:
        self._reached()
        reference = await self._blobs.put_stream(area, chunks, max_bytes)
        self._reached()
        return reference

    async def get(self, area: str, digest: str, max_bytes: int | None = None) -> bytes:
        self._reached()
        return await self._blobs.get(area, digest, max_bytes)

    async def read(self, area: str, digest: str) -> BlobReading:
        self._reached()
        return await self._blobs.read(area, digest)

    async def ping(self) -> None:
        await self._blobs.ping()

    def _reached(self) -> None:
        if self._fate.is_away("blobs") or self._fate.happens("blobs_away"):
            raise BlobUnavailable("no answer")
