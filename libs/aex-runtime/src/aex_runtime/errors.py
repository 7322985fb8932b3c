"""Domain errors, which `http/problems.py` maps to HTTP statuses."""

from collections.abc import Mapping, Sequence

from aex_models.work import Problem


class DomainError(Exception):
    """A refusal, with a stable `code` for programs, a message for people, and the invalid fields."""

    members: Mapping[str, int] = {}
    """Further members of the problem document."""

    def __init__(self, code: str, message: str, errors: Sequence[Problem] = ()) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.errors = tuple(errors)


def summarize_problems(problems: Sequence[Problem]) -> str:
    """Return the message of the first problem and the number of further ones, as one line."""
    more = len(problems) - 1
    return problems[0].message + (f" (and {more} more)" if more else "")


class InvalidRequest(DomainError):
    """A request that is malformed or has invalid values."""


class Unauthenticated(DomainError):
    """A request without a valid token."""


class Forbidden(DomainError):
    """A request that the caller's role does not permit."""


class NotFound(DomainError):
    """A resource that does not exist, or that the caller may not see."""


class Conflict(DomainError):
    """A request that the resource's state does not allow. `retry_after_s` is set if it may succeed later."""

    def __init__(
        self, code: str, message: str, errors: Sequence[Problem] = (), *, retry_after_s: int | None = None
    ) -> None:
        super().__init__(code, message, errors)
        self.retry_after_s = retry_after_s


class TooLarge(DomainError):
    """A request body above a size limit."""


class Unprocessable(DomainError):
    """A body of the wrong shape, or an idempotency key that was used with another body."""


class RateLimited(DomainError):
    """A request above the caller's limits of rate, concurrency or memory."""

    def __init__(self, code: str, message: str, errors: Sequence[Problem] = (), *, retry_after_s: int = 1) -> None:
        super().__init__(code, message, errors)
        self.retry_after_s = retry_after_s


class TemporarilyUnavailable(DomainError):
    """A request that fails because a required part does not answer or is at its limit."""

    def __init__(self, code: str, message: str, errors: Sequence[Problem] = (), *, retry_after_s: int = 1) -> None:
        super().__init__(code, message, errors)
        self.retry_after_s = retry_after_s
