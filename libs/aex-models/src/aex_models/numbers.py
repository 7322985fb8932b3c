"""JSON numbers that keep the text they were parsed from, and checks for finite and whole numbers."""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON implementation holds exactly (RFC 7493, I-JSON)."""


class JsonFloat(float):
    """A float that keeps the text it was parsed from, so that money and claims lose no digits."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> "JsonFloat":
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __reduce__(self) -> tuple[type["JsonFloat"], tuple[str]]:
        return (JsonFloat, (self.text,))


def is_exact_as_double(value: int) -> bool:
    """Return whether a double holds this integer exactly.

    This is true within ±(2^53 − 1). Beyond, it is true for integers below 10^21 that canonical JSON writes for a
    double. For example, the double 1e17 is written as 100000000000000000, which readers parse as an integer.
    """
    if abs(value) <= MAX_SAFE_INTEGER:
        return True
    # RFC 8785 writes doubles below 10^21 in plain digits.
    return abs(value) < 10**21 and int(Decimal(repr(float(value)))) == value


def convert_large_integers_to_doubles(value: Any) -> Any:
    """Return a JSON value in which integers beyond ±(2^53 − 1) are floats, at any depth.

    Canonical JSON writes a double such as 1e17 in plain digits, which readers parse as an integer. This function
    restores the double.
    """
    if isinstance(value, Mapping):
        return {name: convert_large_integers_to_doubles(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [convert_large_integers_to_doubles(each) for each in value]
    is_plain_integer = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_plain_integer and abs(value) > MAX_SAFE_INTEGER else value


def is_finite_number(value: Any) -> bool:
    """Return whether `value` is a number, but no boolean, that a double holds exactly and finitely."""
    if isinstance(value, int):
        return not isinstance(value, bool) and is_exact_as_double(value)
    return isinstance(value, float) and math.isfinite(value)


def is_integral_number(value: Any) -> bool:
    """Return whether `value` is a whole number: 5 and 5.0 are, True and 5.5 are not."""
    return is_finite_number(value) and float(value).is_integer()


def format_as_written(value: int | float) -> str:
    """Return the text that a JSON number was parsed from; for other numbers, the shortest exact text."""
    return value.text if isinstance(value, JsonFloat) else repr(value)
