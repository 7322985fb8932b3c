"""Blob stores in memory, one of which fails on request."""

from obstore.store import MemoryStore

from aex_runtime.blobs.objects import ObjectBlobs
from aex_runtime.blobs.port import BlobRef


def create_memory_blobs() -> ObjectBlobs:
    """Return an empty blob store in memory."""
    return ObjectBlobs(MemoryStore)


class FailingBlobs(ObjectBlobs):
    """A blob store in memory that counts its puts, and raises `failure` unless it is None."""

    def __init__(self) -> None:
        super().__init__(MemoryStore)
        self.puts = 0
        self.failure: Exception | None = None

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure

    async def put(self, area: str, content: bytes) -> BlobRef:
        self._fail()
        self.puts += 1
        return await super().put(area, content)

    async def get(self, area: str, digest: str, max_bytes: int | None = None) -> bytes:
        self._fail()
        return await super().get(area, digest, max_bytes)
