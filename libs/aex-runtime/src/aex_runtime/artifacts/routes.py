"""`PUT /artifacts` and `GET /artifacts/{sha256}`, for each service that takes files."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Request, Response
from starlette.responses import StreamingResponse

from aex_models.artifacts import UploadedArtifact
from aex_models.audiences import project
from aex_runtime.artifacts.uploads import Uploads
from aex_runtime.errors import NotFound
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.download import Download, Pace
from aex_runtime.http.idempotency import IdempotentRequest, idempotent_request
from aex_runtime.http.routing import service_router
from aex_runtime.http.turnstile import Turnstile
from aex_runtime.http.upload import BINARY_BODY, PACE, body_of, check_announced

Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
Digest = Annotated[
    str,
    Path(
        description="The artifact's SHA-256, in lower-case hexadecimal",
        json_schema_extra={"pattern": "^[0-9a-f]{64}$"},  # told, not checked: what is none is not there, a 404
    ),
]
FindSize = Callable[[Principal, str], Awaitable[int | None]]
"""The size of the artifact with this digest, where the principal may read it."""
UPLOADS_OF_ONE, UPLOADS_OF_ALL = 4, 16
"""At once in one process; each holds at most some 20 MB on its way to a bucket."""
DOWNLOADS_OF_ONE, DOWNLOADS_OF_ALL = 8, 32
OCTETS = "application/octet-stream"
_READ: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes", "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}},
    304: {"description": "The caller has it: `If-None-Match` named its `ETag`"},
}


def artifact_routes(
    uploads: Uploads, uploader: Allow, reader: Allow, find_size: FindSize, pace: Pace = PACE
) -> APIRouter:
    """The two routes, below `/v1`. `uploader` and `reader`: whose roles may call them; `find_size`: what each may read;
    `pace`: how slow either may be."""
    router = service_router("/v1", tags=["artifacts"])
    entering = Turnstile(UPLOADS_OF_ONE, UPLOADS_OF_ALL, "uploads", "uploads_busy")
    leaving = Turnstile(DOWNLOADS_OF_ONE, DOWNLOADS_OF_ALL, "downloads", "downloads_busy")

    @router.put(
        "/artifacts",
        status_code=201,
        summary="Upload a file",
        responses={201: {"model": UploadedArtifact}},
        openapi_extra=dict(BINARY_BODY),
    )
    async def put_artifact(
        request: Request,
        principal: Annotated[Principal, Depends(uploader)],
        idempotent: Idempotent,
        response: Response,
    ) -> dict[str, Any]:
        """The body is the file, of any kind, at most 100 MB; the same bytes again are the same artifact.

        It is named by its SHA-256 from then on, by whoever uploaded it alone.
        """
        check_announced(request, uploads.max_bytes)
        with entering.passed(principal.id):
            effect, ref = await uploads.take(principal, body_of(request, pace), idempotent)
        response.headers.update({**effect.headers, "Location": f"/v1/artifacts/{ref.digest}"})
        return project(UploadedArtifact(sha256=ref.digest, size=ref.size), principal.role)

    @router.get("/artifacts/{sha256}", summary="Download a file", response_class=StreamingResponse, responses=_READ)
    async def get_artifact(
        sha256: Digest,
        principal: Annotated[Principal, Depends(reader)],
        if_none_match: Annotated[str | None, Header(description="An `ETag` that the caller has the bytes of")] = None,
    ) -> Response:
        """For its uploader; in verification also for a consumer, once it may read the output that came with it.

        The digest is verified on the way: an answer that does not come to its proper end is not the artifact.
        """
        size = await find_size(principal, sha256)
        if size is None:
            raise NotFound("artifact_not_found", "There is no such artifact")
        headers = {"ETag": f'"{sha256}"', "Accept-Ranges": "none"}
        if _named_by(if_none_match, headers["ETag"]):
            return Response(status_code=304, headers=headers)
        pieces = uploads.pieces(sha256, partial(leaving.passed, principal.id))
        headers["Content-Length"] = str(size)
        return Download(pieces, filename=sha256, media_type=OCTETS, pace=pace, headers=headers)

    return router


def _named_by(if_none_match: str | None, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return etag in tags or "*" in tags
