"""Periods of settlement's own: UTC days by name, and an end that divides no correction."""

from dataclasses import dataclass

from aex_runtime.periods import parse_period


@dataclass(frozen=True, slots=True)
class DaySpan:
    """UTC days such as 2025-01-31, both included; None is without limit."""

    first: str | None = None
    last: str | None = None

    def holds(self, day: str) -> bool:
        """Whether the day lies within."""
        return (self.first is None or day >= self.first) and (self.last is None or day <= self.last)


def even_end(now: int) -> int:
    """The end of a period that holds `now`: an even microsecond, as every end of a day is."""
    return now + 2 - now % 2


def parse_days(first: str | None, last: str | None) -> DaySpan:
    """The UTC days from `first` to `last`, both included. Raises `InvalidRequest` as `parse_period` does."""
    parse_period(first, last)
    return DaySpan(first, last)
