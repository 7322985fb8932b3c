"""Limits of new content: the bytes of a principal's uploads, and the free bytes of the disk."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from aex_models.audiences import Audience
from aex_models.canonical import sha256_hex
from aex_models.frozen import Frozen
from aex_runtime.blobs.streams import Meter
from aex_runtime.errors import TemporarilyUnavailable, TooLarge
from aex_runtime.identity.principals import Principal
from aex_runtime.store.port import Collection, Store
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit

_RETRY_AFTER_S = 30
FindUploads = Callable[[Sequence[str]], Awaitable[Sized]]


class StorageUse(Frozen):
    """The number of bytes that a principal's uploads use in a service. Equal files count once."""

    role: Audience
    principal: str
    used: int


@lru_cache(maxsize=16)
def quotas_table(service: str) -> Table[StorageUse]:
    """Return the table of a service's storage use. It is read by key only and needs no index."""
    return Table(Collection(f"{service}-quotas"), StorageUse)


class StorageQuotaExceeded(TooLarge):
    """An upload that would exceed its principal's quota. `size` is None if it is unknown."""

    def __init__(self, used: int, limit: int, size: int | None) -> None:
        file = "this upload" if size is None else f"this upload of {size} bytes"
        message = (
            f"{file} does not fit: your uploads have {used} of at most {limit} bytes. "
            "Use a smaller file or one that you have uploaded, or ask the operator for a larger quota"
        )
        super().__init__("storage_quota_exceeded", message)
        self.members = {"used": used, "limit": limit}


@dataclass(frozen=True, slots=True)
class StorageBounds:
    """The storage limits of a service."""

    quota_bytes: int = 0
    """Bytes of a principal's uploads; 0: no limit."""
    data_dir: Path | None = None
    """Directory whose disk is checked; None if no content is stored in it."""
    min_free_bytes: int = 0
    """Free bytes below which no new content is accepted; 0: no check."""

    def require_free_disk_space(self) -> None:
        """Raise `TemporarilyUnavailable` if the disk has too few free bytes for new content.

        It blocks, for microseconds on a local disk.
        """
        if self.data_dir is None or not self.min_free_bytes:
            return
        free = shutil.disk_usage(self.data_dir).free
        if free < self.min_free_bytes:
            message = (
                f"the disk has {free} free bytes, and new content needs {self.min_free_bytes}; "
                f"retry after {_RETRY_AFTER_S} s, or have the operator make room"
            )
            raise TemporarilyUnavailable("storage_low", message, retry_after_s=_RETRY_AFTER_S)


UNBOUNDED = StorageBounds()


@dataclass(frozen=True, slots=True)
class Quota:
    """The storage quota of one principal.

    Its use is a document that each upload changes in its own transaction.
    """

    table: Table[StorageUse]
    principal: Principal
    limit: int

    @property
    def key(self) -> str:
        """Key of the principal's document."""
        return sha256_hex(f"{self.principal.role.value}\x1f{self.principal.id}".encode())

    async def load_used_bytes(self, store: Store) -> int:
        """Return the number of bytes that the principal's uploads use, as last committed."""
        stored = await self.table.get(store, self.key)
        return stored.record.used if stored else 0

    async def limit_chunks_to_quota(
        self,
        store: Store,
        chunks: AsyncIterator[bytes],
        declared_bytes: int | None,
        max_bytes: int,
        find_uploads: FindUploads,
    ) -> AsyncIterator[bytes]:
        """Return the chunks of an upload; reading them raises `StorageQuotaExceeded` if the file is too large.

        The error comes before the last chunk, so that no blob is kept. `declared_bytes` is the announced size, for
        which the error may be raised at once. `find_uploads` gets digests and returns the principal's uploads among
        them; a repeated file is never too large.
        """
        used = await self.load_used_bytes(store)
        self._refuse_certain_excess(used, declared_bytes or 0)
        may_exceed = self._is_exceeded(used, max_bytes if declared_bytes is None else declared_bytes)
        return self._refuse_new_file(used, Meter(chunks, max_bytes), find_uploads) if may_exceed else chunks

    async def charge_file_or_raise(self, unit: Unit, size: int) -> None:
        """Add a new file to the bytes in use, in its transaction. Call it before any write.

        Raises `StorageQuotaExceeded`.
        """
        stored = await unit.get(self.table, self.key)
        used = stored.record.used if stored else 0
        if self._is_exceeded(used, size):
            raise StorageQuotaExceeded(used, self.limit, size)
        record = StorageUse(role=self.principal.role, principal=self.principal.id, used=used + size)
        unit.put(self.table, self.key, record)

    async def _refuse_new_file(self, used: int, meter: Meter, find_uploads: FindUploads) -> AsyncIterator[bytes]:
        """Yield the chunks; raise before the end of a new file that is too large, so that no blob is kept."""
        async for chunk in meter.iterate_and_measure_chunks():
            self._refuse_certain_excess(used, meter.size)
            yield chunk
        ref = meter.blob_ref()
        if self._is_exceeded(used, ref.size) and not await find_uploads([ref.digest]):
            raise StorageQuotaExceeded(used, self.limit, ref.size)

    def _is_exceeded(self, used: int, size: int) -> bool:
        """Return whether a new file of this size exceeds the quota."""
        return bool(self.limit) and used + size > self.limit

    def _refuse_certain_excess(self, used: int, size: int) -> None:
        """Raise `StorageQuotaExceeded` for an upload of at least this size that cannot be a repeat.

        A file that was uploaded before is no larger than all uploaded files together, and may be sent again.
        """
        if self._is_exceeded(used, size) and size > used:
            raise StorageQuotaExceeded(used, self.limit, None)
