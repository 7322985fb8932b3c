"""Clocks, which are injected, and instants as microseconds.

Services use the wall clock; tests and the simulator use a `SetClock`.
"""

from datetime import UTC, datetime, timedelta

from aex_models.clock import Clock, WallClock

__all__ = ["Clock", "SetClock", "WallClock", "epoch_micros", "from_epoch_micros"]


class SetClock:
    """A clock whose time changes only by `advance`."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at

    def advance(self, by: timedelta) -> None:
        """Move the time forward, or back by a negative amount."""
        self._at += by


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_micros(moment: datetime) -> int:
    """Return an instant as microseconds since 1970, exactly. Index fields hold times in this form."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_epoch_micros(micros: int) -> datetime:
    """Return the instant that is so many microseconds after 1970, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)
