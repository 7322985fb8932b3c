"""Clocks that do not agree."""

from datetime import datetime, timedelta

from aex_runtime.clock import Clock


class SkewedClock:
    """The clock of one machine, which is ahead of the others or behind."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.skew = timedelta()

    def now(self) -> datetime:
        return self._clock.now() + self.skew
