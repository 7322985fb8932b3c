"""Problem documents (RFC 9457) for errors, with their HTTP statuses and JSON pointers into the body."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from aex_models.validation_messages import build_error_location, message_of
from aex_models.work import Problem
from aex_runtime import errors
from aex_runtime.blobs.port import BlobMissing, BlobTooLarge, BlobUnavailable
from aex_runtime.bus.port import BusUnavailable
from aex_runtime.errors import DomainError, InvalidRequest, Unprocessable
from aex_runtime.http.strict_json import MAX_PROBLEMS, extend_pointer
from aex_runtime.store.port import AlreadyExists, StoreUnavailable
from aex_runtime.store.table import RecordOfNewerVersion

MEDIA_TYPE = "application/problem+json"
INTERNAL_ERROR = "something went wrong here; the request id helps to find it"
DOMAIN_STATUS: Mapping[type[DomainError], int] = {
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
VENDOR_ERRORS: Mapping[type[Exception], DomainError] = {
    RecordOfNewerVersion: errors.TemporarilyUnavailable(
        "record_of_newer_version", "a newer version of this service wrote the record; retry until it is upgraded"
    ),
    StoreUnavailable: errors.TemporarilyUnavailable("store_unavailable", "the store does not answer"),
    BusUnavailable: errors.TemporarilyUnavailable("bus_unavailable", "the bus does not answer"),
    BlobUnavailable: errors.TemporarilyUnavailable("blobs_unavailable", "the blob store does not answer"),
    BlobMissing: errors.NotFound("not_found", "there is no such content"),
    BlobTooLarge: errors.TooLarge("body_too_large", "the content is too large"),
    AlreadyExists: errors.Conflict("already_exists", "it exists already"),
}
STATUS_DESCRIPTIONS: Mapping[int, str] = {
    400: "The request cannot be decoded, or is not valid; `errors` says where",
    401: "No valid bearer token",
    403: "The role may not do this",
    404: "Absent, or not visible to the caller",
    409: "The state does not allow it; `Retry-After` where it may later",
    413: "The body is too large",
    422: "Wrong shape, or an idempotency key that was used with another body",
    429: "Too many requests; see `Retry-After`",
    503: "A part does not answer; see `Retry-After`",
}
_ROUTER_CODES = {404: "no_such_route", 405: "method_not_allowed", 413: "body_too_large"}
_QUOTING_KINDS = frozenset(
    {"value_error", "assertion_error", "union_tag_invalid", "json_invalid", "url_parsing", "url_syntax_violation"}
)
"""Kinds of pydantic's errors whose messages may quote the value; their messages are replaced."""


class ProblemDetails(BaseModel):
    """A problem document of RFC 9457. `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[Problem] = []
    request_id: str


def openapi_problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return OpenAPI's response entries for these error statuses, or for all if none is given."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
    return {
        status: {"description": text, "content": {MEDIA_TYPE: schema}}
        for status, text in STATUS_DESCRIPTIONS.items()
        if not statuses or status in statuses
    }


def openapi_criteria_responses() -> dict[int | str, dict[str, Any]]:
    """Return OpenAPI's entry for 400 of a route whose body has `success_criteria`."""
    (response,) = openapi_problem_responses(400).values()
    description = f"{STATUS_DESCRIPTIONS[400]}. Any problem inside `success_criteria`, of its shape too"
    return {400: {**response, "description": description}}


def build_problem_document(
    request: Request,
    status: int,
    code: str,
    detail: str,
    problems: Sequence[Problem] = (),
    members: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return a problem document as JSON values; `members` are further fields that its code has."""
    return {
        "type": f"urn:aex:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "errors": [problem.model_dump() for problem in problems],
        "request_id": request.scope.get("state", {}).get("request_id", ""),
        **(members or {}),
    }


def problem_response(
    request: Request,
    status: int,
    code: str,
    detail: str,
    problems: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
    members: Mapping[str, int] | None = None,
) -> JSONResponse:
    """Return a response with a problem document; `members` are further fields that its code has."""
    content = build_problem_document(request, status, code, detail, problems, members)
    return JSONResponse(content, status, dict(headers or {}), MEDIA_TYPE)


def build_domain_problem(request: Request, error: DomainError) -> dict[str, Any]:
    """Return the problem document of a domain error with `retry_after_s`, for streams without headers."""
    retry_after_s = getattr(error, "retry_after_s", None)
    members = dict(error.members) if retry_after_s is None else {**error.members, "retry_after_s": retry_after_s}
    return build_problem_document(request, http_status_of(error), error.code, error.message, error.errors, members)


def http_status_of(error: DomainError) -> int:
    """Return the HTTP status of a domain error."""
    return next(DOMAIN_STATUS[kind] for kind in type(error).__mro__ if kind in DOMAIN_STATUS)


def retry_headers(error: DomainError) -> dict[str, str]:
    """Return the header `Retry-After` if the error says when to retry, else no header."""
    retry_after_s = getattr(error, "retry_after_s", None)
    return {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}


def domain_response(request: Request, error: DomainError) -> JSONResponse:
    """Return the response to a domain error, a problem document with the matching headers."""
    status, headers = http_status_of(error), retry_headers(error)
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer" if error.code == "missing_token" else 'Bearer error="invalid_token"'
    return problem_response(request, status, error.code, error.message, error.errors, headers, error.members)


def to_domain_error_if_expected(error: Exception, body_model: Any = None) -> DomainError | None:
    """Return the domain error that answers an exception; None for an unexpected exception.

    `body_model` is the type of the route's body. The message about an unknown field names the fields of that type.
    """
    if isinstance(error, DomainError):
        return error
    if isinstance(error, RequestValidationError):
        return _validation_error(error, body_model)
    return next((VENDOR_ERRORS[kind] for kind in type(error).__mro__ if kind in VENDOR_ERRORS), None)


def add_problem_handlers(app: FastAPI) -> None:
    """Make the application answer known errors and unknown routes with problem documents."""

    async def handle_known(request: Request, error: Exception) -> JSONResponse:
        body_field = getattr(request.scope.get("route"), "body_field", None)
        body_model = body_field.field_info.annotation if body_field is not None else None
        return domain_response(request, cast(DomainError, to_domain_error_if_expected(error, body_model)))

    async def handle_router(request: Request, error: Exception) -> JSONResponse:
        failure = cast(HTTPException, error)
        status, headers = failure.status_code, dict(failure.headers or {})
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(sorted(_methods_at(app, request.scope["path"])))
        code = _ROUTER_CODES.get(status, "http_error")
        return problem_response(request, status, code, HTTPStatus(status).phrase, headers=headers)

    for kind in (DomainError, RequestValidationError, *VENDOR_ERRORS):
        app.add_exception_handler(kind, handle_known)
    app.add_exception_handler(HTTPException, handle_router)


def _methods_at(app: FastAPI, path: str) -> set[str]:
    """Return the methods of all routes that match a path; FastAPI itself names those of the first.

    A literal route, such as `/work/validate`, precedes `/work/{work_id}`, which also matches its path.
    """
    matching = [route for route in iter_route_contexts(app.routes) if route.path_regex.match(path)]
    literal = [route for route in matching if route.path == path]
    return {method for route in literal or matching for method in route.methods or ()}


def _validation_error(error: RequestValidationError, body_model: Any) -> DomainError:
    problems = validation_problems(error.errors(), error.body, body_model)
    if any("success_criteria" in problem.path.split("/") for problem in problems):
        return InvalidRequest("invalid_success_criteria", "the success criteria are not valid", problems)
    return Unprocessable("invalid_shape", "the request does not have the expected shape", problems)


def validation_problems(
    failures: Sequence[Mapping[str, Any]], body: Any, body_model: Any = None
) -> tuple[Problem, ...]:
    """Return pydantic's errors, as FastAPI locates them, as problems: at most 100, without repetition."""
    problems: dict[Problem, None] = {}
    for each in failures:
        kind = each["type"]
        message = "the value is not valid" if kind in _QUOTING_KINDS else message_of(each, body_model)
        problems[Problem(path=_pointer(build_error_location(each), kind, body), code=kind, message=message)] = None
    return tuple(problems)[:MAX_PROBLEMS]


def _pointer(location: Sequence[str | int], kind: str, body: Any) -> str:
    """Return a JSON pointer into the body, or a path such as `query/limit` outside of it.

    Pydantic's location also names the branches of unions, which the pointer omits.
    """
    source, *steps = location
    if source != "body":
        return "/".join(map(str, location))
    path, value = "", body
    for position, step in enumerate(steps):
        is_last = position == len(steps) - 1
        if isinstance(value, dict) and isinstance(step, str):
            if step in value:
                value = value[step]
            elif not (is_last and kind == "missing"):
                continue
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            continue
        path = extend_pointer(path, step)
    return path
