"""Dates and moments in texts, in ISO 8601 and in formats of `strptime`, as comparable numbers."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

MAX_DATE_LENGTH = 100
"""Maximum characters of a text that is parsed as a date."""
_ISO = re.compile(r"[0-9W-]{7,10}(?:[T ][0-9:.,+Z-]+)?")
_SAMPLE = datetime.fromisoformat("2001-11-22T23:45:58.123456+00:00")
_WITHOUT_PARTS = "1900-01-01T00:00:00"
_MICROSECOND = timedelta(microseconds=1)


class ParsedDate(NamedTuple):
    """Result of parsing a text as a date."""

    moment: int | None
    """Microseconds since the year 1 in UTC; None if the text is no date."""
    formats_tried: int


def parse_date(text: str, formats: Sequence[str]) -> ParsedDate:
    """Parse a date or moment in ISO 8601, else in the first format of `strptime` that fits.

    A date is its midnight, and a moment without an offset is in UTC. ISO 8601 is read as by `datetime.fromisoformat`,
    with `T` or a blank before the time.
    """
    upper = text.upper()
    if _ISO.fullmatch(upper) and (found := _parse_iso(upper)) is not None:
        return ParsedDate(_to_number(found), 0)
    for tried, date_format in enumerate(formats, 1):
        if (found := _parse(text, date_format)) is not None:
            return ParsedDate(_to_number(found), tried)
    return ParsedDate(None, len(formats))


def is_date_format(date_format: str) -> bool:
    """Return True if `strptime` accepts the format, and it has a part of a date or time."""
    try:
        sample = _SAMPLE.strftime(date_format)
    except ValueError:
        return False
    parsed = _parse(sample, date_format)
    return parsed is not None and parsed.replace(tzinfo=None).isoformat() != _WITHOUT_PARTS


def _parse_iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _parse(text: str, date_format: str) -> datetime | None:
    # A repeated directive is a `re.error`.
    try:
        return datetime.strptime(text, date_format)  # noqa: DTZ007 a format may have no offset; then it is UTC
    except (ValueError, re.error):
        return None


def _to_number(moment: datetime) -> int:
    since = moment.replace(tzinfo=None) - datetime.min  # noqa: DTZ901 only the difference is used
    return (since - (moment.utcoffset() or timedelta())) // _MICROSECOND
