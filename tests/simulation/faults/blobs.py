"""Blobs in a dictionary, without threads, which are sometimes unavailable."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator

from aex_runtime.blobs.port import BlobMissing, BlobReading, BlobRef, BlobTooLarge, BlobUnavailable
from tests.simulation.engine.interleaving import Pauses
from tests.simulation.faults.fate import Fate


class SimulatedBlobs:
    """Content-addressed bytes; a put may succeed although its caller gets an error."""

    def __init__(self, pauses: Pauses, fate: Fate) -> None:
        self._pauses, self._fate = pauses, fate
        self._kept: dict[tuple[str, str], bytes] = {}

    async def put(self, area: str, content: bytes) -> BlobRef:
        await self._reach()
        reference = BlobRef(hashlib.sha256(content).hexdigest(), len(content))
        self._kept[area, reference.digest] = content
        await self._reach()
        return reference

    async def put_stream(self, area: str, chunks: AsyncIterator[bytes], max_bytes: int) -> BlobRef:
        content = b"".join([chunk async for chunk in chunks])
        if len(content) > max_bytes:
            raise BlobTooLarge(f"more than {max_bytes} bytes")
        return await self.put(area, content)

    async def get(self, area: str, digest: str, max_bytes: int | None = None) -> bytes:
        await self._reach()
        content = self._kept.get((area, digest))
        if content is None:
            raise BlobMissing(f"{area}/{digest}")
        if max_bytes is not None and len(content) > max_bytes:
            raise BlobTooLarge(f"{area}/{digest}: more than {max_bytes} bytes")
        return content

    async def read(self, area: str, digest: str) -> BlobReading:
        content = await self.get(area, digest)

        async def pieces() -> AsyncGenerator[bytes, None]:
            yield content

        return BlobReading(len(content), pieces())

    async def ping(self) -> None:
        return None

    async def _reach(self) -> None:
        """Pause, so that other actions may run; raise `BlobUnavailable` during an outage."""
        await self._pauses.pause()
        if self._fate.is_away("blobs") or self._fate.happens("blobs_away"):
            raise BlobUnavailable("no answer")
