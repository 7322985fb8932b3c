import pytest

from aex_outcomes.kernels.dates import is_date_format, parse_date


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-31", "20240131", "2024-W05-3", "2024-01-31T00:00", "2024-01-31 00:00:00Z", "2024-01-31t01:00+01:00",
        "31.01.2024", "January 31, 2024",
    ],
)  # fmt: skip
def test_one_day_in_every_format(text: str) -> None:
    formats = ("%d.%m.%Y", "%B %d, %Y")
    assert parse_date(text, formats).moment == parse_date("2024-01-31", ()).moment


@pytest.mark.parametrize(
    "text", ["", "2024-01", "2024-13-01", "2024-01-31_00:00", "31.13.2024", "32.01.2024", "31/01/2024", "٢٠٢٤-٠١-٣١"]
)
def test_other_texts_are_no_dates(text: str) -> None:
    assert parse_date(text, ("%d.%m.%Y",)) == (None, 1)


def test_moments_differ_by_time_and_offset_also_at_the_ends_of_the_calendar() -> None:
    ordered = [
        "0001-01-01T00:00+23:59", "0001-01-01", "2024-01-31T10:00+01:00", "2024-01-31T09:00:00.5Z", "2024-01-31T10:00",
        "9999-12-31T23:59:59", "9999-12-31T23:59:59-23:59",
    ]  # fmt: skip
    moments = [parse_date(text, ()).moment for text in ordered]
    assert None not in moments
    assert moments == sorted(set(moments), key=lambda moment: moment or 0)


@pytest.mark.parametrize("text", ["%d.%m.%Y", "%H:%M", "%y%j", "%G-W%V-%u", "%d/%m/%y %I:%M %p", "%b %d", "%A %x"])
def test_formats_of_strptime_are_valid(text: str) -> None:
    assert is_date_format(text)


@pytest.mark.parametrize("text", ["", "%", "%Q", "%d %d", "day", "%%", "%z", "%-d", "\0", "\ud800"])
def test_other_formats_are_invalid(text: str) -> None:
    assert not is_date_format(text)
