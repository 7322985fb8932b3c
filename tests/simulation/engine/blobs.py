"""Blobs in a dictionary: no thread has a part in them, so that a run stays the same run."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator

from aex_runtime.blobs.port import BlobMissing, BlobReading, BlobRef, BlobTooLarge
from tests.simulation.engine.interleaving import Pauses


class SimulatedBlobs:
    """Content-addressed bytes; others come in between, as with the store."""

    def __init__(self, pauses: Pauses) -> None:
        self._pauses = pauses
        self._kept: dict[tuple[str, str], bytes] = {}

    async def put(self, area: str, content: bytes) -> BlobRef:
        await self._pauses.pause()
        reference = BlobRef(hashlib.sha256(content).hexdigest(), len(content))
        self._kept[area, reference.digest] = content
        await self._pauses.pause()
        return reference

    async def put_stream(self, area: str, chunks: AsyncIterator[bytes], max_bytes: int) -> BlobRef:
        content = b""
        async for chunk in chunks:
            content += chunk
            if len(content) > max_bytes:
                raise BlobTooLarge(f"more than {max_bytes} bytes")
        return await self.put(area, content)

    async def get(self, area: str, digest: str, max_bytes: int | None = None) -> bytes:
        await self._pauses.pause()
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
