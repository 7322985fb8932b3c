"""Whether another service is asked at all: while it is silent, one caller at a time finds out whether it still is."""

from collections.abc import Callable

FAILURES = 3
"""In a row; one alone may be a connection that was closed as it was used."""
PAUSE_S = 1.0
"""Between the end of one try and the next."""


class Silence:
    """Keeps handlers from all waiting for a service that does not answer: others have work that needs none of it."""

    def __init__(self, try_s: float, monotonic: Callable[[], float]) -> None:
        """`try_s`: how long a try may take; after that somebody else tries, whatever became of it."""
        self._try_s = try_s
        self._monotonic = monotonic
        self._failures = 0
        self._again_at = 0.0

    def may_ask(self) -> bool:
        """Whether to ask; who may, says afterwards whether there was an answer."""
        if self._failures < FAILURES:
            return True
        now = self._monotonic()
        if now < self._again_at:
            return False
        self._again_at = now + self._try_s
        return True

    def answered(self) -> None:
        """There was an answer, of whatever kind: it is no longer silent."""
        self._failures = 0

    def unanswered(self) -> None:
        """There was none."""
        self._failures += 1
        self._again_at = self._monotonic() + PAUSE_S
