"""What can go wrong with a call: problem documents (RFC 9457) as exceptions, one class for each status."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from aex_models.work import Problem

IN_FLIGHT = "idempotency_in_flight"
"""The code of a 409 that says: a request with this idempotency key is under way; ask again."""


class AexError(Exception):
    """The base of everything that a call raises of itself."""

    retryable: bool = False
    """Whether the same request may succeed if it is sent again."""
    retry_after_s: float | None = None
    """How long the service asks to wait before that."""


class ConnectionFailed(AexError):
    """No answer came: refused, cut off, or too late. What was asked for may have happened nonetheless; a repeat of the
    call within this client carries the same idempotency key and does it once."""

    retryable = True


class AnswerNotUnderstood(AexError):
    """The service answered with success, but not with what this version of the client can read."""


class ProblemError(AexError):
    """The service refused. `code` is stable and for programs, `errors` names every fault by its JSON pointer."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        errors: tuple[Problem, ...] = (),
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        faults = "".join(f"\n  {fault.path or '/'}: {fault.message} [{fault.code}]" for fault in errors)
        super().__init__(f"{status} {code}: {detail}{faults}")
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.request_id = request_id
        self.retry_after_s = retry_after_s
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


_KINDS = {
    kind.STATUS: kind
    for kind in (
        InvalidRequest,
        Unauthenticated,
        Forbidden,
        NotFound,
        Conflict,
        TooLarge,
        Unprocessable,
        RateLimited,
        Unavailable,
    )
}
_PASSING = {429, 502, 503, 504}
"""Statuses that pass: the platform's own, and those of gateways before it."""


class _Document(BaseModel):
    """A problem document, or what a proxy made of one."""

    model_config = ConfigDict(extra="ignore")

    code: str | None = None
    title: str | None = None
    detail: str | None = None
    errors: tuple[Problem, ...] = ()
    request_id: str | None = None


_DOCUMENT: TypeAdapter[_Document] = TypeAdapter(_Document)


def problem_of(status: int, headers: Mapping[str, str], content: bytes, now: datetime | None = None) -> ProblemError:
    """The exception for an answer that is no success, whoever wrote it. `headers` are found whatever their case."""
    try:
        document = _DOCUMENT.validate_json(content, extra="ignore")
    except ValidationError:
        document = _Document()
    kind: Any = _KINDS.get(status, ProblemError)
    problem: ProblemError = kind(
        status,
        document.code or f"http_{status}",
        document.detail or document.title or "the service gave no reason",
        document.errors,
        document.request_id or headers.get("x-request-id"),
        retry_after(headers.get("retry-after"), now or datetime.now(UTC)),
    )
    return problem


def retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that a `Retry-After` asks for, written as a number or as a date; None where it cannot be read."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value)
    try:
        return max((parsedate_to_datetime(value) - now).total_seconds(), 0.0)
    except (ValueError, TypeError):  # no date, or one without its zone
        return None
