"""Lets so many in at once, of one caller and of all: what waits for a worker must not fill the queue of others."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from aex_runtime.errors import RateLimited, TemporarilyUnavailable

RETRY_AFTER_S = 1


class Turnstile:
    """Counts who is inside."""

    def __init__(self, of_one: int, of_all: int) -> None:
        self._of_one, self._of_all = of_one, of_all
        self._inside: Counter[str] = Counter()

    @contextmanager
    def passed(self, caller: str) -> Iterator[None]:
        """The caller is inside until the block ends. Raises `RateLimited` and `TemporarilyUnavailable`."""
        if self._inside[caller] >= self._of_one:
            message = f"at most {self._of_one} of your verifications run at once"
            raise RateLimited("too_many_verifications", message, retry_after_s=RETRY_AFTER_S)
        if self._inside.total() >= self._of_all:
            raise TemporarilyUnavailable("verifier_busy", "the verifier is busy", retry_after_s=RETRY_AFTER_S)
        self._inside[caller] += 1
        try:
            yield
        finally:
            self._inside[caller] -= 1
            if not self._inside[caller]:
                del self._inside[caller]
