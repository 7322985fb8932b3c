"""Errors as RFC 9457 problem documents, and the one table from domain and vendor errors to HTTP statuses."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from aex_models.work import Problem
from aex_runtime import errors
from aex_runtime.blobs.port import BlobMissing, BlobTooLarge, BlobUnavailable
from aex_runtime.bus.port import BusUnavailable
from aex_runtime.http.validation import validation_problem
from aex_runtime.store.port import AlreadyExists, StoreUnavailable
from aex_runtime.store.table import RecordOfNewerVersion

MEDIA_TYPE = "application/problem+json"

DOMAIN_STATUS: Mapping[type[errors.DomainError], int] = {
    errors.InvalidRequest: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooLarge: 413,
    errors.Unprocessable: 422,
    errors.RateLimited: 429,
    errors.TemporarilyUnavailable: 503,
}
VENDOR_ERRORS: Mapping[type[Exception], errors.DomainError] = {
    RecordOfNewerVersion: errors.TemporarilyUnavailable(
        "record_of_newer_version", "a newer version of this service wrote the record; ask again, it may answer then"
    ),
    StoreUnavailable: errors.TemporarilyUnavailable("store_unavailable", "the store does not answer"),
    BusUnavailable: errors.TemporarilyUnavailable("bus_unavailable", "the bus does not answer"),
    BlobUnavailable: errors.TemporarilyUnavailable("blobs_unavailable", "the blob store does not answer"),
    BlobMissing: errors.NotFound("not_found", "there is no such content"),
    BlobTooLarge: errors.TooLarge("body_too_large", "the content is too large"),
    AlreadyExists: errors.Conflict("already_exists", "it exists already"),
}
_ROUTER_CODES = {404: "no_such_route", 405: "method_not_allowed", 413: "body_too_large"}


class ProblemDetails(BaseModel):
    """RFC 9457: what went wrong, for programs (`code`) and for people (`detail`)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[Problem] = []
    request_id: str


DOCUMENTED: Mapping[int, str] = {
    400: "What was sent cannot be decoded, or makes no sense; `errors` says where",
    401: "No valid bearer token",
    403: "The role may not do this",
    404: "Not there, or not for the caller to know of",
    409: "The state does not allow it; `Retry-After` where it may later",
    413: "The body is too large",
    422: "Wrong shape, or an idempotency key that came with another body",
    429: "Too many requests; see `Retry-After`",
    503: "A part does not answer; see `Retry-After`",
}


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of these errors, or of all that a route may answer with."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
    return {
        status: {"description": text, "content": {MEDIA_TYPE: schema}}
        for status, text in DOCUMENTED.items()
        if not statuses or status in statuses
    }


def criteria_responses() -> dict[int | str, dict[str, Any]]:
    """The entry of the 400 of a route whose body has `success_criteria`."""
    (answer,) = problem_responses(400).values()
    return {400: {**answer, "description": f"{DOCUMENTED[400]}. Anything wrong inside `success_criteria`, shape too"}}


def problem_response(
    request: Request,
    status: int,
    code: str,
    detail: str,
    problems: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """A problem document as an answer."""
    content: dict[str, Any] = {
        "type": f"urn:aex:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "errors": [problem.model_dump() for problem in problems],
        "request_id": request.scope.get("state", {}).get("request_id", ""),
    }
    return JSONResponse(content, status, dict(headers or {}), MEDIA_TYPE)


def domain_response(request: Request, error: errors.DomainError) -> JSONResponse:
    """The answer to a domain error."""
    status = next(DOMAIN_STATUS[kind] for kind in type(error).__mro__ if kind in DOMAIN_STATUS)
    headers: dict[str, str] = {}
    retry_after_s = getattr(error, "retry_after_s", None)
    if retry_after_s is not None:
        headers["Retry-After"] = str(retry_after_s)
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer" if error.code == "missing_token" else 'Bearer error="invalid_token"'
    return problem_response(request, status, error.code, error.message, error.errors, headers)


def internal_error(request: Request) -> JSONResponse:
    """The answer to what nobody expected; what it was stands in the log alone."""
    return problem_response(
        request, 500, "internal_error", "something went wrong here; the request id helps to find it"
    )


def add_problem_handlers(app: FastAPI) -> None:
    """Answer domain errors, vendor errors, wrong shapes and unknown routes with problem documents."""

    async def domain(request: Request, error: errors.DomainError) -> JSONResponse:
        return domain_response(request, error)

    async def vendor(request: Request, error: Exception) -> JSONResponse:
        known = next(VENDOR_ERRORS[kind] for kind in type(error).__mro__ if kind in VENDOR_ERRORS)
        return domain_response(request, known)

    async def shape(request: Request, error: RequestValidationError) -> JSONResponse:
        return domain_response(request, validation_problem(error))

    async def router(request: Request, error: HTTPException) -> JSONResponse:
        code = _ROUTER_CODES.get(error.status_code, "http_error")
        detail = HTTPStatus(error.status_code).phrase
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(sorted(_methods_at(app, request.scope["path"])))
        return problem_response(request, error.status_code, code, detail, headers=headers)

    handlers: dict[type[Exception], Any] = {
        errors.DomainError: domain,
        RequestValidationError: shape,
        HTTPException: router,
        **dict.fromkeys(VENDOR_ERRORS, vendor),
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _methods_at(app: FastAPI, path: str) -> set[str]:
    """What a path answers to; FastAPI itself names the methods of the first of its routes alone.

    A path that is a route's own, `/work/validate`, is no `/work/{work_id}`, though it would be taken for one.
    """
    at_path = [route for route in iter_route_contexts(app.routes) if route.path_regex.match(path)]
    own = [route for route in at_path if route.path == path]
    return {method for route in own or at_path for method in route.methods or ()}
