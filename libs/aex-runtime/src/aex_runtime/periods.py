"""Days, periods of days and RFC 3339 instants in query parameters, all in UTC."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from pydantic import JsonValue

from aex_models.work import Problem
from aex_runtime.clock import epoch_micros
from aex_runtime.errors import InvalidRequest
from aex_runtime.store.port import Bound

DAY_MICROS = 86_400_000_000
DAY: dict[str, JsonValue] = {"format": "date"}
INSTANT: dict[str, JsonValue] = {"format": "date-time"}
"""JSON schema of an instant in a query parameter."""
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Period:
    """A span of time in microseconds since 1970, without its `end`; None stands for no limit."""

    start: int | None = None
    end: int | None = None

    def part_before(self, end_micros: int) -> "Period":
        """Return the part of the period before this instant, in microseconds since 1970."""
        return Period(self.start, end_micros if self.end is None else min(self.end, end_micros))


def parse_period(first: str | None, last: str | None) -> Period:
    """Return the period from the first to the last UTC day, both included.

    None leaves an end open. Raises `InvalidRequest`.
    """
    start, end = _day("from", first), _day("to", last)
    if start is not None and end is not None and start > end:
        raise _invalid_period("from", "invalid_period", "from must not come after to")
    return Period(start, None if end is None else end + DAY_MICROS)


def period_bounds(period: Period) -> tuple[Bound, ...]:
    """Return the bounds that limit an ordered field, in microseconds since 1970, to a period."""
    start = () if period.start is None else (Bound(">=", period.start),)
    end = () if period.end is None else (Bound("<", period.end),)
    return (*start, *end)


def _day(name: str, text: str | None) -> int | None:
    """Return the first microsecond of a UTC day; None for None."""
    if text is None:
        return None
    try:
        day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None:
        raise _invalid_period(name, "invalid_day", f"{name} must be a day such as 2025-01-31")
    return epoch_micros(datetime.combine(day, time(), UTC))


def parse_instant(parameter_name: str, text: str | None) -> datetime | None:
    """Return an RFC 3339 instant in UTC; None for None. `parameter_name` is the query parameter.

    Raises `InvalidRequest`, also for an instant without an offset.
    """
    if text is None:
        return None
    try:
        instant = datetime.fromisoformat(text.upper()).astimezone(UTC) if _INSTANT.fullmatch(text) else None
    except (ValueError, OverflowError):
        instant = None
    if instant is None:
        hint = "such as 2025-01-31T12:00:00Z (write the + of an offset as %2B)"
        raise _invalid_period(
            parameter_name, "invalid_instant", f"{parameter_name} must be an RFC 3339 instant, {hint}"
        )
    return instant


def _invalid_period(name: str, code: str, message: str) -> InvalidRequest:
    return InvalidRequest(code, message, [Problem(path=f"query/{name}", code=code, message=message)])
