"""What can go wrong in the domain. No HTTP status here: `http/problems.py` holds the one table that maps them."""

from collections.abc import Sequence

from aex_models.work import Problem


class DomainError(Exception):
    """A refusal with a stable `code`, a message for people and, where it helps, the places that are wrong."""

    def __init__(self, code: str, message: str, errors: Sequence[Problem] = ()) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.errors = tuple(errors)


def told(problems: Sequence[Problem]) -> str:
    """Several problems in one line for people: the first, and how many more there are."""
    more = len(problems) - 1
    return problems[0].message + (f" (and {more} more)" if more else "")


class InvalidRequest(DomainError):
    """It reads well and makes no sense: a semantic problem."""


class Unauthenticated(DomainError):
    """Nobody vouches for the caller."""


class Forbidden(DomainError):
    """The caller's role may not do this at all."""


class NotFound(DomainError):
    """It is not there, or the caller may not know that it is."""


class Conflict(DomainError):
    """The state does not allow it. `retry_after_s`: where the same request may succeed later."""

    def __init__(
        self, code: str, message: str, errors: Sequence[Problem] = (), *, retry_after_s: int | None = None
    ) -> None:
        super().__init__(code, message, errors)
        self.retry_after_s = retry_after_s


class TooLarge(DomainError):
    """More bytes than are taken here."""


class Unprocessable(DomainError):
    """The wrong shape; or an idempotency key that came with another body before."""


class RateLimited(DomainError):
    """Too many requests from this caller."""

    def __init__(self, code: str, message: str, errors: Sequence[Problem] = (), *, retry_after_s: int = 1) -> None:
        super().__init__(code, message, errors)
        self.retry_after_s = retry_after_s


class TemporarilyUnavailable(DomainError):
    """A part that is needed does not answer."""

    def __init__(self, code: str, message: str, errors: Sequence[Problem] = (), *, retry_after_s: int = 1) -> None:
        super().__init__(code, message, errors)
        self.retry_after_s = retry_after_s
