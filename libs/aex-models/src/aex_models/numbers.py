"""JSON numbers that remember how they were written, and the kinds a criterion may compare."""

import math
from typing import Any

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON implementation holds exactly (RFC 7493, I-JSON)."""


class JsonFloat(float):
    """A float that keeps the text it was parsed from, so that money and claims lose no digit."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> "JsonFloat":
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __reduce__(self) -> tuple[type["JsonFloat"], tuple[str]]:
        return (JsonFloat, (self.text,))


def is_number(value: Any) -> bool:
    """Whether `value` is a finite number. A boolean is never one; an integer must be safe in JSON."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return abs(value) <= MAX_SAFE_INTEGER
    return isinstance(value, float) and math.isfinite(value)


def is_integer(value: Any) -> bool:
    """Whether `value` is a whole number: 5 and 5.0 are, True and 5.5 are not."""
    return is_number(value) and float(value).is_integer()


def text_of(value: int | float) -> str:
    """The number as it was written, or else its shortest exact text."""
    return value.text if isinstance(value, JsonFloat) else repr(value)
