"""Spans of time as people type them: 90s, 15m, 12h, 7d."""

import re
from datetime import timedelta

from aex_runtime.commandline.errors import UserError

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SPAN = re.compile(r"([0-9]{1,6})([smhd])")
LONGEST = timedelta(days=365)


def parse_duration(text: str) -> timedelta:
    """`12h` as a timedelta. Raises `UserError` for anything but one number and one of s, m, h, d, up to a year."""
    match = _SPAN.fullmatch(text.strip())
    span = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else timedelta()
    if not timedelta() < span <= LONGEST:
        raise UserError(f"{text!r} is no span of time between 1s and 365d", "write for example 90s, 15m, 12h or 7d")
    return span
