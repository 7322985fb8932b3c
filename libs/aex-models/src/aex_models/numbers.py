"""JSON numbers that remember how they were written, and the kinds a criterion may compare."""

import math
from collections.abc import Mapping
from decimal import Decimal
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


def is_exact(value: int) -> bool:
    """Whether a double holds this integer as it is written.

    True within ±(2^53 − 1), and for what canonical JSON writes of a larger double: 1e17 is stored as
    100000000000000000, comes back as an integer, and must still be the same number.
    """
    if abs(value) <= MAX_SAFE_INTEGER:
        return True
    return abs(value) < _WITHOUT_EXPONENT and int(Decimal(repr(float(value)))) == value


_WITHOUT_EXPONENT = 10**21
"""RFC 8785 writes doubles below this in plain digits."""


def safely_sent(value: Any) -> Any:
    """The JSON value with integers beyond ±(2^53 − 1) as doubles, for parsers that take I-JSON alone.

    Canonical JSON keeps a double such as 1e17 in plain digits, and whoever reads it back has an integer.
    """
    if isinstance(value, Mapping):
        return {name: safely_sent(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [safely_sent(each) for each in value]
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole and abs(value) > MAX_SAFE_INTEGER else value


def is_number(value: Any) -> bool:
    """Whether `value` is a finite number. A boolean is never one; an integer must be one that a double holds."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return is_exact(value)
    return isinstance(value, float) and math.isfinite(value)


def is_integer(value: Any) -> bool:
    """Whether `value` is a whole number: 5 and 5.0 are, True and 5.5 are not."""
    return is_number(value) and float(value).is_integer()


def text_of(value: int | float) -> str:
    """The number as it was written, or else its shortest exact text."""
    return value.text if isinstance(value, JsonFloat) else repr(value)
