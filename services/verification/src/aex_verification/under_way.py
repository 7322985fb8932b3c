"""Attempts that this process is working on: nobody starts one twice at once."""

from collections.abc import Iterator
from contextlib import contextmanager


class UnderWay:
    """A set of attempts, held while each is worked on: no more than handlers of events and timers run at once."""

    def __init__(self) -> None:
        self._attempts: set[str] = set()

    def __contains__(self, attempt_id: str) -> bool:
        return attempt_id in self._attempts

    @contextmanager
    def hold(self, attempt_id: str) -> Iterator[None]:
        """The attempt is under way until the block ends."""
        self._attempts.add(attempt_id)
        try:
            yield
        finally:
            self._attempts.discard(attempt_id)
