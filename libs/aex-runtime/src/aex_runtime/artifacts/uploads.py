"""Who uploaded what: the bytes lie once, under their digest, and each who brought them has a record of it."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass, replace

from aex_models.artifacts import MAX_UPLOAD_BYTES
from aex_models.audiences import Audience
from aex_models.canonical import sha256_hex
from aex_models.frozen import Frozen, Instant, Sha256
from aex_models.work import Problem
from aex_runtime.blobs.port import BlobRef, Blobs, BlobTooLarge
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.http.upload import empty, too_large
from aex_runtime.identity.principal import Principal
from aex_runtime.store.port import Collection, Store
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit, UnitOfWork


class Upload(Frozen):
    """That somebody uploaded some bytes. Never removed: a work or a candidate may name them."""

    digest: Sha256
    size: int
    role: Audience
    uploaded_by: str
    uploaded_at: Instant


def uploads_table(service: str) -> Table[Upload]:
    """What was uploaded to a service; by key alone, so that no query needs an index."""
    return Table(Collection(f"{service}-uploads"), Upload)


def _key(role: Audience, uploader: str, digest: str) -> str:
    return sha256_hex("\x1f".join((role.value, uploader, digest)).encode())


@dataclass(frozen=True, slots=True)
class Uploads:
    """A service's uploads. `area`: where among the blobs the bytes lie."""

    table: Table[Upload]
    area: str
    blobs: Blobs
    store: Store
    unit_of_work: UnitOfWork
    max_bytes: int = MAX_UPLOAD_BYTES

    async def take(
        self, principal: Principal, pieces: AsyncIterator[bytes], request: IdempotentRequest
    ) -> tuple[Effect, BlobRef]:
        """Keep a stream under its digest, and that `principal` brought it. A repeat changes nothing.

        Raises `TooLarge` and `InvalidRequest` (empty), `Unprocessable` where the request's key came with other bytes,
        and what `pieces` raise; then nothing is recorded.
        """
        try:
            ref = await self.blobs.put_stream(self.area, pieces, self.max_bytes)
        except BlobTooLarge:
            raise too_large(self.max_bytes) from None
        if ref.size == 0:
            raise empty()
        key = _key(principal.role, principal.id, ref.digest)

        async def record(unit: Unit) -> str:
            if await unit.get(self.table, key) is None:
                upload = Upload(
                    digest=ref.digest,
                    size=ref.size,
                    role=principal.role,
                    uploaded_by=principal.id,
                    uploaded_at=unit.now,
                )
                unit.put(self.table, key, upload)
            return ref.digest

        named = replace(request, body_digest=ref.digest)  # the body is no JSON: its own digest tells it from others
        return await run_idempotent(self.unit_of_work, named, record), ref

    async def of(self, role: Audience, uploader: str, digests: Iterable[str]) -> dict[str, Upload]:
        """Which of these the uploader brought, by digest."""
        asked = sorted(set(digests))
        if not asked:
            return {}
        found = await self.table.get_many(self.store, [_key(role, uploader, digest) for digest in asked])
        return {upload.digest: upload for upload in found if upload is not None}

    async def pieces(
        self, digest: str, place: Callable[[], AbstractContextManager[None]]
    ) -> AsyncGenerator[bytes, None]:
        """The bytes, verified, read while a `place` is held. Raises what entering that raises before anything else."""
        with place():
            reading = await self.blobs.read(self.area, digest)
            async with aclosing(reading.pieces) as pieces:
                async for piece in pieces:
                    yield piece


def not_uploaded(named: Sequence[tuple[str, str | None]], found: Iterable[str], uploads_url: str) -> list[Problem]:
    """A problem for each (JSON pointer, digest) that is not among the digests `found`."""
    known = set(found)
    message = f"You have uploaded no file with this digest; upload it first: PUT {uploads_url}"
    return [
        Problem(path=path, code="unknown_artifact", message=message)
        for path, digest in named
        if digest is not None and digest not in known
    ]


def total_size(named: Iterable[str | None], found: Mapping[str, Upload]) -> int:
    """Bytes of all that are named, those that are named twice counted twice: each is read as a file of its own."""
    return sum(found[digest].size for digest in named if digest is not None and digest in found)
