"""Conversion of JSON values to parameters of SQL statements, by SQL type.

Each function raises `ValueError` for a value that does not fit the type. Exact numbers, dates and times become texts,
which the database reads.
"""

import base64
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any
from uuid import UUID

_NUMBER = re.compile(r"[+-]?[0-9]{1,80}(?:\.[0-9]{1,80})?")
_MAX_REAL = 3.4028234663852886e38
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Texts of floats that JSON has no numbers for."""


def require_fit(fits: bool) -> None:
    """Raise `ValueError` unless the value fits."""
    if not fits:
        raise ValueError("does not fit the type")


def _to_decimal(value: Any) -> Decimal:
    """Convert a JSON number, or its text, exactly."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    require_fit(is_number or (isinstance(value, str) and _NUMBER.fullmatch(value) is not None))
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise ValueError("no number") from None
    require_fit(number.is_finite())
    return number


def convert_integer(least: int, greatest: int, value: Any) -> str:
    """Return the text of a JSON number, or of the text of one, that is an integer within the bounds."""
    number = _to_decimal(value)
    require_fit(least <= number <= greatest and number == number.to_integral_value())
    return str(int(number))


def convert_decimal(width: int, scale: int, value: Any) -> str:
    """Return the text of a number with at most `width` digits, `scale` of them after the point."""
    number = _to_decimal(value)
    scaled = number.scaleb(scale)
    require_fit(abs(scaled) < Decimal(10) ** width and scaled == scaled.to_integral_value())
    return f"{number:f}"


def _convert_float(greatest: float, value: Any) -> float:
    if isinstance(value, str) and value in NOT_FINITE:
        return NOT_FINITE[value]
    require_fit(isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= greatest)
    return float(value)


def _convert_boolean(value: Any) -> bool:
    require_fit(isinstance(value, bool))
    return bool(value)


def _convert_text(value: Any) -> str:
    require_fit(isinstance(value, str))
    value.encode()  # lone surrogates are no Unicode
    return str(value)


def _convert_date(value: Any) -> str:
    return date.fromisoformat(_convert_text(value)).isoformat()


def _convert_time(value: Any) -> str:
    parsed = time.fromisoformat(_convert_text(value))
    require_fit(parsed.tzinfo is None)
    return parsed.isoformat()


def _convert_timestamp(value: Any) -> str:
    parsed = datetime.fromisoformat(_convert_text(value))
    require_fit(parsed.tzinfo is None)
    return parsed.isoformat(" ")


def _convert_instant(value: Any) -> str:
    parsed = datetime.fromisoformat(_convert_text(value))
    parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    return parsed.isoformat(" ")


def _convert_uuid(value: Any) -> str:
    return str(UUID(_convert_text(value)))


def _convert_bytes(value: Any) -> bytes:
    return base64.b64decode(_convert_text(value).encode("ascii"), validate=True)


CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "FLOAT": partial(_convert_float, _MAX_REAL),
    "DOUBLE": partial(_convert_float, math.inf),
    "BOOLEAN": _convert_boolean,
    "VARCHAR": _convert_text,
    "DATE": _convert_date,
    "TIME": _convert_time,
    "TIMESTAMP": _convert_timestamp,
    "TIMESTAMPTZ": _convert_instant,
    "UUID": _convert_uuid,
    "BLOB": _convert_bytes,
}
"""Functions by name of the type, for types without bounds."""
