"""Cells of query results as JSON: between processes, and as expected values in evaluation data."""

import base64
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

_SAFE_INTEGER = 2**53 - 1
_SECOND = timedelta(seconds=1)
_PLAIN = (str, bool, type(None))


def encode_cell(value: Any) -> Any:
    """Convert a value of DuckDB's Python client to JSON; what JSON lacks is an object with one key.

    Dates are datetimes at midnight, times with a zone are texts, and intervals are seconds. Unknown values are texts.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, int | Decimal):
        return value if isinstance(value, int) and abs(value) <= _SAFE_INTEGER else {"number": str(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list | tuple):
        return [encode_cell(each) for each in value]
    if isinstance(value, dict):
        return {"struct": [[_key_text(key), encode_cell(each)] for key, each in value.items()]}
    return _encode_special(value)


def _encode_special(value: Any) -> Any:
    if isinstance(value, datetime):
        return {
            "datetime": value.astimezone(UTC).replace(tzinfo=None).isoformat() if value.tzinfo else value.isoformat()
        }
    if isinstance(value, date):
        return {"datetime": f"{value.isoformat()}T00:00:00"}
    if isinstance(value, time) and value.tzinfo is None:
        return {"time": value.isoformat()}
    if isinstance(value, timedelta):
        return {"number": str(Decimal(value // timedelta(microseconds=1)) / 1_000_000)}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    return str(value)


def _key_text(key: Any) -> str:
    return key if isinstance(key, str) else str(key)


def decode_cell(encoded: Any) -> Any:
    """Return the cell of an encoded value, as `match_results` takes it. Raises `ValueError`."""
    if isinstance(encoded, list):
        return [decode_cell(each) for each in encoded]
    if not isinstance(encoded, dict):
        return encoded
    try:
        ((kind, value),) = encoded.items()
        return _DECODERS[kind](value)
    except (KeyError, TypeError, InvalidOperation) as error:
        raise ValueError(f"no cell ({type(error).__name__})") from None


def _decode_number(text: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError("no number")
    return number


_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "number": _decode_number,
    "float": float,
    "struct": lambda pairs: {str(key): decode_cell(each) for key, each in pairs},
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
    "bytes": lambda text: base64.b64decode(text, validate=True),
}


def interpret_expected_rows(
    expected: Sequence[Sequence[Any]], actual: Sequence[Sequence[Any]]
) -> Sequence[Sequence[Any]]:
    """Return expected rows of JSON with texts read as what the actual rows have in that column.

    JSON has no dates, times, bytes and long numbers. If all actual cells of a column are of one such kind, texts are
    read so: as ISO 8601, base64 or a number. A text that is no such value stays a text.
    """
    if not actual or not expected or len(actual[0]) != len(expected[0]):
        return expected
    readers = [
        _find_reader({kind for cell in column for kind in _list_kinds(cell)}) for column in zip(*actual, strict=True)
    ]
    if not any(readers):
        return expected
    return [[_interpret(cell, reader) for cell, reader in zip(row, readers, strict=True)] for row in expected]


def _list_kinds(cell: Any) -> Iterable[type]:
    """Yield the types of the scalars in a cell; nulls have none."""
    if isinstance(cell, list | Mapping):
        for each in cell.values() if isinstance(cell, Mapping) else cell:
            yield from _list_kinds(each)
    elif cell is not None:
        yield type(cell)


def _find_reader(kinds: set[type]) -> Callable[[str], Any] | None:
    if len(kinds) == 1:
        return _READERS.get(*kinds)
    return _read_number if kinds and kinds <= {int, float, Decimal} else None


def _read_number(text: str) -> Any:
    named = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    return named[text] if text in named else _decode_number(text)


def _read_datetime(text: str) -> datetime:
    parsed = datetime.fromisoformat(text)
    return parsed.astimezone(UTC).replace(tzinfo=None) if parsed.tzinfo else parsed


_READERS: Mapping[type, Callable[[str], Any]] = {
    int: _read_number,
    float: _read_number,
    Decimal: _read_number,
    datetime: _read_datetime,
    time: time.fromisoformat,
    bytes: lambda text: base64.b64decode(text, validate=True),
}


def _interpret(cell: Any, read: Callable[[str], Any] | None) -> Any:
    if read is None:
        return cell
    if isinstance(cell, list | tuple):
        return [_interpret(each, read) for each in cell]
    if isinstance(cell, Mapping):
        return {key: _interpret(each, read) for key, each in cell.items()}
    if not isinstance(cell, str):
        return cell
    try:
        return read(cell)
    except (ValueError, InvalidOperation):
        return cell
