from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.errors import InvalidRequest
from aex_runtime.periods import DAY_MICROS, Period, parse_instant, parse_period, period_bounds
from aex_runtime.store.port import Bound


def test_period_covers_full_days_and_an_absent_end_is_open() -> None:
    assert parse_period("1970-01-02", "1970-01-02") == Period(DAY_MICROS, 2 * DAY_MICROS)
    assert parse_period(None, None) == Period(None, None)
    assert parse_period("2025-01-02", None).end is None
    assert parse_period(None, "9999-12-31").start is None


@pytest.mark.parametrize(
    "day",
    [
        "", "2025-02-29", "2025-13-01", "20250101", "2025-1-1", "2025-W01-1", "2025-01-01T00:00:00Z", "today",
        "٢٠٢٥-٠١-٠١",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["from", "to"])
def test_invalid_day_is_refused(day: str, end: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_period(*((day, None) if end == "from" else (None, day)))
    assert refused.value.code == "invalid_day"
    assert refused.value.errors[0].path == f"query/{end}"


def test_period_that_ends_before_its_start_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="from must not come after to"):
        parse_period("2025-01-02", "2025-01-01")
    parse_period("2025-01-01", "2025-01-01")


def test_instant_of_another_zone_is_converted_to_utc() -> None:
    moment = parse_instant("as_of", "2025-01-01T01:30:00.5+05:30")
    assert moment == datetime(2024, 12, 31, 20, 0, 0, 500_000, tzinfo=UTC)
    assert moment.utcoffset() == timedelta(0)
    assert parse_instant("as_of", None) is None


@pytest.mark.parametrize(
    "text",
    [
        "", "2025-01-01", "2025-01-01T00:00:00", "2025-01-01T00:00:00 00:00", "2025-01-01 00:00:00Z",
        "2025-01-01T25:00:00Z", "0001-01-01T00:00:00+14:00", "1735689600", "now",
    ],
)  # fmt: skip
def test_invalid_instant_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="as_of must be an RFC 3339 instant"):
        parse_instant("as_of", text)


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_period_ends_at_the_present(end: int, now: int) -> None:
    assert Period(5, end).part_before(now) == Period(5, min(end, now))
    assert Period(5).part_before(now) == Period(5, now)


def test_period_becomes_bounds() -> None:
    assert period_bounds(Period()) == ()
    assert period_bounds(Period(5, 7)) == (Bound(">=", 5), Bound("<", 7))
