"""Time, injected: services take the wall clock, tests and the simulator one that they move."""

from datetime import UTC, datetime, timedelta

from aex_models.clock import Clock, WallClock

__all__ = ["Clock", "SetClock", "WallClock", "epoch_micros", "from_epoch_micros"]


class SetClock:
    """A clock that stands still until it is moved."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at

    def advance(self, by: timedelta) -> None:
        """Move forward (or back: clocks jump)."""
        self._at += by


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_micros(moment: datetime) -> int:
    """Microseconds since 1970, exact: the form in which stores index time."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_epoch_micros(micros: int) -> datetime:
    """Return the moment of so many microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)
