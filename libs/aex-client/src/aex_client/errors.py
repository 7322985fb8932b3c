"""Exceptions that the client's calls raise.

A problem document (RFC 9457) becomes the subclass of `ProblemError` for its HTTP status. Without such a subclass it
becomes a `ProblemError`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar

from pydantic import BaseModel, JsonValue, ValidationError

from aex_models.work import Problem

IN_FLIGHT = "idempotency_in_flight"
"""Code of a 409: another request with this idempotency key is in progress; retry."""


class AexError(Exception):
    """The base class of the errors that calls raise."""

    retryable: bool = False
    """True if the same request may succeed later."""
    retry_after_s: float | None = None
    """Seconds to wait before the next request, if the service named a time; else None."""


class ConnectionFailed(AexError):
    """A connection that was refused, broke off or timed out, so that the answer is missing.

    The request may have taken effect. A retry by this client has the same idempotency key and takes effect once.
    """

    retryable = True


class AnswerNotUnderstood(AexError):
    """A successful answer that this version of the client cannot parse."""


class ProblemError(AexError):
    """A refusal by the service, with the content of its problem document.

    `code` is stable. `errors` holds each problem of the request with its JSON pointer.
    `extensions` holds further members of the document, such as `used` and `limit` of `storage_quota_exceeded`.
    """

    STATUS: ClassVar[int]

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        errors: tuple[Problem, ...] = (),
        request_id: str | None = None,
        retry_after_s: float | None = None,
        extensions: Mapping[str, JsonValue] | None = None,
    ) -> None:
        faults = "".join(f"\n  {fault.path or '/'}: {fault.message} [{fault.code}]" for fault in errors)
        super().__init__(f"{status} {code}: {detail}{faults}")
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        self.extensions = dict(extensions or {})
        self.retryable = status in _TEMPORARY_STATUSES or (status == Conflict.STATUS and code == IN_FLIGHT)


class InvalidRequest(ProblemError):
    """Status 400: the request is invalid; `errors` holds the problems."""

    STATUS = 400


class Unauthenticated(ProblemError):
    """Status 401: the bearer token is missing or invalid."""

    STATUS = 401


class Forbidden(ProblemError):
    """Status 403: the role of the token may not do this."""

    STATUS = 403


class NotFound(ProblemError):
    """Status 404: the record does not exist, or this caller may not know that it exists."""

    STATUS = 404


class Conflict(ProblemError):
    """Status 409: the current state forbids the request. `retry_after_s` is set if a retry may succeed."""

    STATUS = 409


class TooLarge(ProblemError):
    """Status 413: the body is too large."""

    STATUS = 413


class Unprocessable(ProblemError):
    """Status 422: the body has the wrong shape, or its idempotency key was used with another body."""

    STATUS = 422


class RateLimited(ProblemError):
    """Status 429: the caller sent too many requests."""

    STATUS = 429


class Unavailable(ProblemError):
    """Status 503: a part of the platform does not answer."""

    STATUS = 503


_KINDS = {kind.STATUS: kind for kind in ProblemError.__subclasses__()}
_TEMPORARY_STATUSES = {429, 502, 503, 504}
"""Temporary statuses of the platform and of gateways before it. A retry may succeed."""


class _Document(BaseModel):
    """The fields of a problem document. All are optional, because a proxy may answer instead."""

    type: JsonValue = None
    status: JsonValue = None
    instance: JsonValue = None
    code: str | None = None
    title: str | None = None
    detail: str | None = None
    errors: tuple[Problem, ...] = ()
    request_id: str | None = None


def parse_problem(status: int, headers: Mapping[str, str], content: bytes, now: datetime | None = None) -> ProblemError:
    """Return the exception for an unsuccessful answer of a service or a proxy, for the caller to raise.

    The names in `headers` must be in lower case. `now` is the time to which a date in `Retry-After` is compared.
    """
    try:
        document = _Document.model_validate_json(content, extra="allow")
    except ValidationError:
        document = _Document()
    kind: Any = _KINDS.get(status, ProblemError)
    problem: ProblemError = kind(
        status,
        document.code or f"http_{status}",
        document.detail or document.title or "the service gave no reason",
        document.errors,
        document.request_id or headers.get("x-request-id"),
        parse_retry_after_s(headers.get("retry-after"), now or datetime.now(UTC)),
        document.model_extra,
    )
    return problem


def parse_retry_after_s(value: str | None, now: datetime) -> float | None:
    """Return the seconds to wait by a `Retry-After` header, a number or a date.

    None means that the header is missing or cannot be parsed.
    """
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value)
    try:
        return max((parsedate_to_datetime(value) - now).total_seconds(), 0.0)
    except (ValueError, TypeError):  # no date, or one without its zone
        return None
