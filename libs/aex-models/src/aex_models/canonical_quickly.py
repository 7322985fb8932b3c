"""The common case of RFC 8785 in C: where the standard library's encoder writes the very same bytes.

It does where keys are ASCII (code points and UTF-16 units then sort alike), integers are safe, and floats are neither
whole nor so large or small that they are written with an exponent. Whole floats are written as integers, as RFC 8785
(ECMAScript) does. Everything else is left to the complete implementation, which is several times slower.
"""

import json
from typing import Any

from aex_models.numbers import MAX_SAFE_INTEGER

_ENCODE = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
).encode
_LEAST, _MOST = 1e-4, 1e15
"""Within these, `repr` and ECMAScript write the same shortest digits without an exponent."""


class _Uncommon(Exception):
    """Not the common case."""


def quickly(value: Any) -> bytes | None:
    """The canonical bytes of a JSON value; None where the complete implementation has to be asked."""
    try:
        return _ENCODE(_written(value)).encode()
    except (_Uncommon, UnicodeEncodeError, RecursionError):
        return None


def _written(value: Any) -> Any:
    """The same value, with whole floats as integers. Raises `_Uncommon`."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            raise _Uncommon
        return value
    if kind is dict:
        if not all(type(key) is str and key.isascii() for key in value):
            raise _Uncommon
        return {key: _written(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        if {*map(type, value)} == {str}:  # labels, often, by the thousand
            return value
        return [_written(item) for item in value]
    if isinstance(value, float):
        return _float(value)
    raise _Uncommon


def _float(value: float) -> float | int:
    if value == 0:
        return 0  # also −0
    if not _LEAST <= abs(value) < _MOST:  # also NaN and the infinities
        raise _Uncommon
    return int(value) if value.is_integer() else float(value)
