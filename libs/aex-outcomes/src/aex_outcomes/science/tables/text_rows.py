"""Rows of text files, read in one pass without holding a complete file.

CSV and TSV follow RFC 4180 with a header row, by the standard library's parser in strict mode. The database's own
reader was measured to drop rows after an unclosed quote. It also accepted a row with one delimiter too many. JSON lines
have an object a line, one level deep; a missing key is a missing value.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any

from aex_models.statistics import MISSING_WORDS
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.source_files import DataFormat
from aex_outcomes.science.tables.cells import NESTED_MARK, SEPARATOR, TEXT_MARK
from aex_outcomes.science.tables.file_checks import DataError, check_is_text, quote_name, quote_names

_FORBIDDEN = ("\x00", SEPARATOR)


@contextmanager
def lines_of(path: str, limits: DataLimits, code: str) -> Iterator[Iterator[str]]:
    """Open a file and yield its lines with their ends, without a byte order mark.

    Raises `DataError`: `not_utf8`, `too_large` for a long line, `code` for a NUL or unit separator.
    """
    with Path(path).open(encoding="utf-8-sig", errors="strict", newline="") as opened:
        yield _checked_lines(opened.readline, limits, code)


def _checked_lines(readline: Callable[[int], str], limits: DataLimits, code: str) -> Iterator[str]:
    for number in count(1):
        try:
            line = readline(limits.max_line + 1)
        except UnicodeDecodeError:
            raise DataError("not_utf8", f"not UTF-8, at line {number} or soon after: save it as UTF-8") from None
        if not line:
            return
        if len(line) > limits.max_line:
            raise DataError("too_large", f"line {number} is longer than {limits.max_line} characters")
        if any(each in line for each in _FORBIDDEN):
            raise DataError(code, f"line {number} holds a byte that no text has (NUL or unit separator)")
        yield line


_DELIMITERS = {DataFormat.CSV: ",", DataFormat.TSV: "\t"}
_OTHER_DELIMITERS = {";": "semicolons", ",": "commas", "\t": "tabs", "|": "bars"}
BATCH_CELLS = 200_000
_BLANK = " \t"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_JSON = re.compile(r'\s*(?:\{\s*(?:"|\}?\s*$)|\[\s*(?:[\[{"]|\]?\s*$))')
"""Beginning of a first line that is an object or an array, and hardly a header."""


def header_of(path: str, form: DataFormat, limits: DataLimits) -> tuple[str, ...]:
    """Return the names of the columns, without blanks around them. Raises `DataError`."""
    check_is_text(path, form)
    _check_first_line(path, form, limits)
    header = next(_rows(path, form, limits), None)
    if header is None:
        raise DataError("empty_file", "the file has no header: give one, and rows")
    names = tuple(name.strip(_BLANK) for name in header)
    if len(names) > limits.max_columns:
        raise DataError("too_many_columns", f"{len(names)} columns, more than {limits.max_columns}: leave some out")
    blank = [name for name in names if not name]
    if blank and len(names) > 1 and len(blank) < len(names):
        names = tuple(name or f"column {index}" for index, name in enumerate(names, start=1))
    elif blank:
        raise DataError("duplicate_column", "the header has no names: give each column one")
    check_names(names, limits)
    return names


def batches_of(path: str, form: DataFormat, columns: int, limits: DataLimits) -> Iterator[list[tuple[str, ...]]]:
    """Yield the rows below the header in batches, column by column. Raises `DataError`, also late."""
    rows = _rows(path, form, limits)
    next(rows)
    size = max(1, BATCH_CELLS // columns)
    before = 0
    while batch := list(islice(rows, size)):
        for index, row in enumerate(batch):
            if len(row) != columns:
                message = f"data row {before + index + 1} has {len(row)} cells, the header {columns}"
                raise DataError("ragged_rows", f"{message}: quote cells that hold a delimiter")
        before += len(batch)
        yield list(zip(*batch, strict=True))


def _rows(path: str, form: DataFormat, limits: DataLimits) -> Iterator[list[str]]:
    """Yield all rows with the header, without empty lines."""
    with lines_of(path, limits, "not_csv") as lines:
        reader = csv.reader(lines, delimiter=_DELIMITERS[form], strict=True)
        try:
            yield from filter(None, reader)
        except csv.Error as error:
            message = f"not {form} by RFC 4180, at line {reader.line_num}: {error}"
            raise DataError("not_csv", f"{message}; check the quotes") from None


def check_names(names: tuple[str, ...], limits: DataLimits) -> None:
    """Raise `DataError` for duplicate and too long names."""
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise DataError("duplicate_column", f"more than one column is called {quote_names(twice)}: rename them")
    long = [name for name in names if len(name) > limits.max_name]
    if long:
        raise DataError(
            "name_too_long", f"{quote_name(long[0])} has more than {limits.max_name} characters: shorten it"
        )


def _check_first_line(path: str, form: DataFormat, limits: DataLimits) -> None:
    """Raise `DataError` for JSON, and for other delimiters outside quotes without any of its own."""
    with lines_of(path, limits, "not_csv") as lines:
        line = next(lines, "")
    if _JSON.match(line):
        advice = "give one object a line, as application/jsonl"
        raise DataError("not_csv", f"this looks like JSON, not {form}: {advice}, or give {form} with a header")
    bare = _QUOTED.sub("", line)
    if _DELIMITERS[form] in bare or '"' in bare:
        return
    for sign, name in _OTHER_DELIMITERS.items():
        if sign in bare:
            expected = "commas" if form is DataFormat.CSV else "tabs"
            message = f"the header seems to be separated by {name}; {form} is separated by {expected}: save it so"
            raise DataError("wrong_delimiter", f"{message}, with a point before decimals")


_JSON_BLANK = " \t\r\n"


class _Number(str):
    """A number as written."""

    __slots__ = ()


def keys_of(path: str, limits: DataLimits) -> tuple[str, ...]:
    """Return every key of the file in order of occurrence. Raises `DataError` for any bad line."""
    check_is_text(path, DataFormat.JSON_LINES)
    keys: dict[str, None] = {}
    for record in _records(path, limits):
        if not record.keys() <= keys.keys():
            keys |= dict.fromkeys(record)
            if len(keys) > limits.max_columns:
                raise DataError("too_many_columns", f"more than {limits.max_columns} keys: leave some out")
    if not keys:
        raise DataError("no_rows", "there is no row in it")
    check_names(tuple(keys), limits)
    return tuple(keys)


def json_batches_of(path: str, keys: Sequence[str], limits: DataLimits) -> Iterator[list[tuple[str, ...]]]:
    """Yield all rows in batches, key by key, as cells of a text file whose texts are marked."""
    rows = (tuple(_cell_text(record.get(key)) for key in keys) for record in _records(path, limits))
    while batch := list(islice(rows, max(1, BATCH_CELLS // max(1, len(keys))))):
        yield list(zip(*batch, strict=True))


def _records(path: str, limits: DataLimits) -> Iterator[dict[str, Any]]:
    with lines_of(path, limits, "not_jsonl") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip(_JSON_BLANK):
                yield _parse_record(line, number)


def _parse_record(line: str, number: int) -> dict[str, Any]:
    try:
        record = _DECODER.decode(line.strip(_JSON_BLANK))
    except _DuplicateKey as error:
        raise DataError("duplicate_column", f"line {number} has the key {quote_name(error.args[0])} twice") from None
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise DataError("not_jsonl", f"line {number} is no JSON object: give one object a line")
    return record


class _DuplicateKey(Exception):
    """A key that an object has twice, so that its value is ambiguous."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _DuplicateKey(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_Number, parse_float=_Number, parse_constant=_Number)


def _cell_text(value: Any) -> str:
    """Return a record's value as a cell; NaN and Infinity are numbers that are not finite."""
    if value is None:
        return ""
    if isinstance(value, _Number):
        return value
    if isinstance(value, bool):
        return TEXT_MARK + str(value).lower()
    if not isinstance(value, str):
        return NESTED_MARK
    plain = value.replace(SEPARATOR, "\ufffd").encode("utf-8", "replace").decode().strip(_JSON_BLANK)
    return "" if plain in MISSING_WORDS else TEXT_MARK + plain
