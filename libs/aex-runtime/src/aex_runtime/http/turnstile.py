"""Lets so many in at once, of one caller and of all: what takes long must not take the place of everything else."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from aex_runtime.errors import RateLimited, TemporarilyUnavailable

RETRY_AFTER_S = 1


class Turnstile:
    """Counts who is inside. `what` they come for, in the plural, and the code for whom there is no place.

    The last `kept` of all places are for those callers alone who are let in as `preferred`.
    """

    def __init__(self, of_one: int, of_all: int, what: str, full: str, *, kept: int = 0) -> None:
        self._of_one, self._of_all, self._kept = of_one, of_all, kept
        self._what, self._full = what, full
        self._inside: Counter[str] = Counter()

    @property
    def inside(self) -> int:
        """How many there are."""
        return self._inside.total()

    @contextmanager
    def passed(self, caller: str, *, preferred: bool = False) -> Iterator[None]:
        """The caller is inside until the block ends. Raises `RateLimited` and `TemporarilyUnavailable`."""
        if self._inside[caller] >= self._of_one:
            message = f"at most {self._of_one} of your {self._what} run at once"
            raise RateLimited(f"too_many_{self._what}", message, retry_after_s=RETRY_AFTER_S)
        if self.inside >= self._of_all - (0 if preferred else self._kept):
            message = f"no place for further {self._what}: this instance is busy"
            raise TemporarilyUnavailable(self._full, message, retry_after_s=RETRY_AFTER_S)
        self._inside[caller] += 1
        try:
            yield
        finally:
            self._inside[caller] -= 1
            if not self._inside[caller]:
                del self._inside[caller]
