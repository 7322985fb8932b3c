"""Uploaded files: their records, and the routes `PUT /artifacts` and `GET /artifacts/{sha256}`.

The bytes of equal files are stored once, under their digest. Each uploader has a record of its own.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Request, Response
from starlette.responses import StreamingResponse

from aex_models.audiences import Audience, project
from aex_models.canonical import sha256_hex
from aex_models.contract import MAX_UPLOAD_BYTES, UploadedArtifact
from aex_models.frozen import Frozen, Instant, Sha256
from aex_models.work import Problem
from aex_runtime.blobs.port import BlobRef, Blobs, BlobTooLarge
from aex_runtime.errors import NotFound
from aex_runtime.http.auth import Allow
from aex_runtime.http.idempotency import Effect, IdempotentRequest, idempotent_request, run_idempotent
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.http.problems import STATUS_DESCRIPTIONS, openapi_problem_responses
from aex_runtime.http.routing import service_router
from aex_runtime.http.streaming import Download, TransferRate
from aex_runtime.http.upload import (
    BINARY_BODY,
    MIN_RATE,
    check_upload_headers,
    content_length,
    empty_upload_error,
    stream_body,
    upload_too_large_error,
)
from aex_runtime.identity.principals import Principal
from aex_runtime.quotas import UNBOUNDED, Quota, StorageBounds, quotas_table
from aex_runtime.store.port import Collection, Store
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit, UnitOfWork


class Upload(Frozen):
    """The record of a file that a principal has uploaded.

    It is never removed, because a work or a candidate may name the file.
    """

    digest: Sha256
    size: int
    role: Audience
    uploaded_by: str
    uploaded_at: Instant


def uploads_table(service: str) -> Table[Upload]:
    """Return the table of a service's uploads. It is read by key only and needs no index."""
    return Table(Collection(f"{service}-uploads"), Upload)


def _key(role: Audience, uploader: str, digest: str) -> str:
    return sha256_hex("\x1f".join((role.value, uploader, digest)).encode())


def _make_record(uploader: Principal, ref: BlobRef, now: datetime) -> Upload:
    return Upload(digest=ref.digest, size=ref.size, role=uploader.role, uploaded_by=uploader.id, uploaded_at=now)


@dataclass(frozen=True, slots=True)
class Uploads:
    """The uploads of a service. `area` is the blob area of their bytes."""

    table: Table[Upload]
    area: str
    blobs: Blobs
    store: Store
    unit_of_work: UnitOfWork
    max_bytes: int = MAX_UPLOAD_BYTES
    bounds: StorageBounds = UNBOUNDED

    async def save_stream(
        self,
        principal: Principal,
        chunks: AsyncIterator[bytes],
        request: IdempotentRequest,
        declared_bytes: int | None = None,
    ) -> tuple[Effect, BlobRef]:
        """Store a stream under its digest and record it for `principal`; a repeated upload changes nothing.

        Count a new file against the principal's quota. After an error nothing is recorded. `declared_bytes` is the size
        that the sender announced. Raises:

        - `TooLarge`, also above the principal's quota, and `TemporarilyUnavailable` if the disk is nearly full;
        - `InvalidRequest` for an empty stream, `Unprocessable` if the request's key was used with other bytes;
        - what `chunks` raise.
        """
        self.bounds.require_free_disk_space()
        quota = Quota(quotas_table(self.unit_of_work.service), principal, self.bounds.quota_bytes)
        find = partial(self.find, principal.role, principal.id)
        chunks = await quota.limit_chunks_to_quota(self.store, chunks, declared_bytes, self.max_bytes, find)
        try:
            ref = await self.blobs.put_stream(self.area, chunks, self.max_bytes)
        except BlobTooLarge:
            raise upload_too_large_error(self.max_bytes) from None
        if ref.size == 0:
            raise empty_upload_error()
        key = _key(principal.role, principal.id, ref.digest)

        async def record(unit: Unit) -> str:
            if await unit.get(self.table, key) is None:
                await quota.charge_file_or_raise(unit, ref.size)
                unit.put(self.table, key, _make_record(principal, ref, unit.now))
            return ref.digest

        keyed = replace(request, body_digest=ref.digest)  # the body is no JSON document
        return await run_idempotent(self.unit_of_work, keyed, record), ref

    async def find(self, role: Audience, uploader: str, digests: Iterable[str]) -> dict[str, Upload]:
        """Return the uploader's records of the files with these digests, by digest; others are omitted."""
        keys = [_key(role, uploader, digest) for digest in sorted(set(digests))]
        found = await self.table.get_many(self.store, keys) if keys else []
        return {upload.digest: upload for upload in found if upload is not None}

    async def read(
        self, digest: str, acquire_slot: Callable[[], AbstractContextManager[None]]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a file, with a check of the digest, while a slot of `acquire_slot` is held.

        Raises what `acquire_slot` raises before the first byte, and as `Blobs.read` does.
        """
        with acquire_slot():
            reading = await self.blobs.read(self.area, digest)
            async with aclosing(reading.pieces) as chunks:
                async for chunk in chunks:
                    yield chunk


def missing_upload_problems(
    references: Sequence[tuple[str, str | None]], uploaded: Iterable[str], uploads_url: str
) -> list[Problem]:
    """Return a problem for each pair of JSON pointer and digest whose digest is not in `uploaded`."""
    known = set(uploaded)
    message = f"You have uploaded no file with this digest; upload it first: PUT {uploads_url}"
    return [
        Problem(path=path, code="unknown_artifact", message=message)
        for path, digest in references
        if digest is not None and digest not in known
    ]


def total_size(digests: Iterable[str | None], uploads: Mapping[str, Upload]) -> int:
    """Return the size of all files in bytes; a repeated digest counts each time, as it is read each time."""
    return sum(uploads[digest].size for digest in digests if digest is not None and digest in uploads)


Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
Digest = Annotated[
    str,
    Path(
        description="The artifact's SHA-256, in lower-case hexadecimal",
        json_schema_extra={"pattern": "^[0-9a-f]{64}$"},  # documented, not checked: any other text gets a 404
    ),
]
FindSize = Callable[[Principal, str], Awaitable[int | None]]
UPLOADS_PER_CALLER, UPLOADS_TOTAL = 4, 16
"""Uploads at once in one process; each holds up to 20 MB on its way to a bucket."""
DOWNLOADS_PER_CALLER, DOWNLOADS_TOTAL = 8, 32
OCTETS = "application/octet-stream"
_READ: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes", "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}},
    304: {"description": "The caller has it already: `If-None-Match` names its `ETag`"},
}


def _upload_refusals() -> dict[int | str, dict[str, Any]]:
    (response,) = openapi_problem_responses(413).values()
    quota = "Or the caller's quota is used up: `storage_quota_exceeded`, with `used` and `limit` in bytes"
    return {413: {**response, "description": f"{STATUS_DESCRIPTIONS[413]}. {quota}"}}


def artifact_routes(
    uploads: Uploads, uploader: Allow, reader: Allow, find_size: FindSize, min_rate: TransferRate = MIN_RATE
) -> APIRouter:
    """Return the two routes, below `/v1`.

    `find_size` returns the size of a file that the caller may read, or None. `min_rate` applies to senders and readers.
    """
    router = service_router("/v1", tags=["artifacts"])
    _add_upload_route(router, uploads, uploader, min_rate)
    _add_download_route(router, uploads, reader, find_size, min_rate)
    return router


def _add_upload_route(router: APIRouter, uploads: Uploads, uploader: Allow, min_rate: TransferRate) -> None:
    limiter = ConcurrencyLimiter(UPLOADS_PER_CALLER, UPLOADS_TOTAL, "uploads", "uploads_busy")

    @router.put(
        "/artifacts",
        status_code=201,
        summary="Upload a file",
        responses={201: {"model": UploadedArtifact}, **_upload_refusals()},
        openapi_extra=dict(BINARY_BODY),
    )
    async def put_artifact(
        request: Request, principal: Annotated[Principal, Depends(uploader)], idempotent: Idempotent, response: Response
    ) -> dict[str, Any]:
        """Store the body, a file of any kind of at most 100 MB; equal bytes are the same artifact.

        Its uploader names it by its SHA-256 from then on.
        """
        check_upload_headers(request, uploads.max_bytes)
        with limiter.acquire(principal.id):
            body = stream_body(request, min_rate)
            effect, ref = await uploads.save_stream(principal, body, idempotent, content_length(request))
        response.headers.update({**effect.headers, "Location": f"/v1/artifacts/{ref.digest}"})
        return project(UploadedArtifact(sha256=ref.digest, size=ref.size), principal.role)


def _add_download_route(
    router: APIRouter, uploads: Uploads, reader: Allow, find_size: FindSize, min_rate: TransferRate
) -> None:
    limiter = ConcurrencyLimiter(DOWNLOADS_PER_CALLER, DOWNLOADS_TOTAL, "downloads", "downloads_busy")

    @router.get("/artifacts/{sha256}", summary="Download a file", response_class=StreamingResponse, responses=_READ)
    async def get_artifact(
        sha256: Digest,
        principal: Annotated[Principal, Depends(reader)],
        if_none_match: Annotated[str | None, Header(description="An `ETag` whose bytes the caller has")] = None,
    ) -> Response:
        """Return a file to its uploader, and in verification to a consumer that may read the output with it.

        The digest is verified on the way: an incomplete response is not the artifact.
        """
        size = await find_size(principal, sha256)
        if size is None:
            raise NotFound("artifact_not_found", "There is no such artifact")
        headers = {"ETag": f'"{sha256}"', "Accept-Ranges": "none"}
        if _matches_etag(if_none_match, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        chunks = uploads.read(sha256, partial(limiter.acquire, principal.id))
        headers["Content-Length"] = str(size)
        return Download(chunks, filename=sha256, media_type=OCTETS, min_rate=min_rate, headers=headers)


def _matches_etag(if_none_match: str | None, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return etag in tags or "*" in tags
