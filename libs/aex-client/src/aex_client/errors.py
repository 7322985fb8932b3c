"""Errors of calls: problem documents (RFC 9457) as exceptions, one class for each status."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar

from pydantic import BaseModel, JsonValue, ValidationError

from aex_models.work import Problem

IN_FLIGHT = "idempotency_in_flight"
"""Code of a 409: another request with this idempotency key is in progress; retry."""


class AexError(Exception):
    """The base of everything that a call raises of itself."""

    retryable: bool = False
    """True if the same request may succeed later."""
    retry_after_s: float | None = None
    """Seconds to wait before the next request."""


class ConnectionFailed(AexError):
    """A missing answer: refused, aborted or timed out.

    The request may have taken effect. A retry by this client has the same idempotency key and takes effect once.
    """

    retryable = True


class AnswerNotUnderstood(AexError):
    """The service answered with success, but not with what this version of the client can read."""


class ProblemError(AexError):
    """A refusal by the service. `code` is stable, `errors` holds every problem with its JSON pointer.

    `extensions` holds the other members of the problem document: `used` and `limit` of `storage_quota_exceeded`.
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
        self.retryable = status in _PASSING or (status == Conflict.STATUS and code == IN_FLIGHT)


class InvalidRequest(ProblemError):
    """400: understood and refused; the faults are in `errors`."""

    STATUS = 400


class Unauthenticated(ProblemError):
    """401: no token, or none that counts."""

    STATUS = 401


class Forbidden(ProblemError):
    """403: not for this role."""

    STATUS = 403


class NotFound(ProblemError):
    """404: not there, or not for this caller to know of."""

    STATUS = 404


class Conflict(ProblemError):
    """409: the state does not allow it; `retry_after_s` is set where it may later."""

    STATUS = 409


class TooLarge(ProblemError):
    """413: the body is too large."""

    STATUS = 413


class Unprocessable(ProblemError):
    """422: the wrong shape, or an idempotency key that came with another body."""

    STATUS = 422


class RateLimited(ProblemError):
    """429: too many requests."""

    STATUS = 429


class Unavailable(ProblemError):
    """503: a part of the platform does not answer."""

    STATUS = 503


_KINDS = {kind.STATUS: kind for kind in ProblemError.__subclasses__()}
_PASSING = {429, 502, 503, 504}
"""Statuses that pass: the platform's own, and those of gateways before it."""


class _Document(BaseModel):
    """A problem document, or what a proxy made of one."""

    type: JsonValue = None
    status: JsonValue = None
    instance: JsonValue = None
    code: str | None = None
    title: str | None = None
    detail: str | None = None
    errors: tuple[Problem, ...] = ()
    request_id: str | None = None


def parse_problem(status: int, headers: Mapping[str, str], content: bytes, now: datetime | None = None) -> ProblemError:
    """Return the exception for an unsuccessful answer, also for one of a proxy.

    `headers` are looked up in lower case.
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
    """Return the seconds of a `Retry-After`, a number or a date; None if it cannot be parsed."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value)
    try:
        return max((parsedate_to_datetime(value) - now).total_seconds(), 0.0)
    except (ValueError, TypeError):  # no date, or one without its zone
        return None
