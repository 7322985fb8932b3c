"""Rows of CSV, TSV and JSON lines files, read in batches so that no complete file is in memory.

CSV and TSV follow RFC 4180 with a header row, and are parsed by the standard library in strict mode. The database's own
reader was measured to drop rows after an unclosed quote, and to accept a row with one delimiter too many. JSON lines
have one flat object per line; a missing key is a missing value.
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
from aex_outcomes.science.tables.file_checks import (
    DataError,
    quote_name_for_message,
    quote_names_for_message,
    refuse_known_binary,
)

_FORBIDDEN = ("\x00", SEPARATOR)


@contextmanager
def open_text_lines(path: str, limits: DataLimits, wrong_format_code: str) -> Iterator[Iterator[str]]:
    """Open a UTF-8 file for the block, and give an iterator of its lines with their line ends.

    A byte order mark is dropped. The iterator raises `DataError` with the code `not_utf8`, `too_large` for a long line,
    or `wrong_format_code` for a line with a NUL or unit separator.
    """
    with Path(path).open(encoding="utf-8-sig", errors="strict", newline="") as opened:
        yield _checked_lines(opened.readline, limits, wrong_format_code)


def _checked_lines(readline: Callable[[int], str], limits: DataLimits, wrong_format_code: str) -> Iterator[str]:
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
            raise DataError(wrong_format_code, f"line {number} holds a byte that no text has (NUL or unit separator)")
        yield line


_DELIMITERS = {DataFormat.CSV: ",", DataFormat.TSV: "\t"}
_OTHER_DELIMITERS = {";": "semicolons", ",": "commas", "\t": "tabs", "|": "bars"}
BATCH_CELLS = 200_000
_BLANK = " \t"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_JSON = re.compile(r'\s*(?:\{\s*(?:"|\}?\s*$)|\[\s*(?:[\[{"]|\]?\s*$))')
"""Beginning of a first line that is probably a JSON object or array instead of a header."""


def read_header(path: str, form: DataFormat, limits: DataLimits) -> tuple[str, ...]:
    """Return the column names of a CSV or TSV file, without blanks around them.

    Columns with an empty name are called `column N` if others have names. Raises `DataError` for a file of another
    format, and for missing, duplicate, too long or too many names.
    """
    refuse_known_binary(path, form)
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
    check_column_names(names, limits)
    return names


def read_row_batches(
    path: str, form: DataFormat, column_count: int, limits: DataLimits
) -> Iterator[list[tuple[str, ...]]]:
    """Yield the rows below the header of a CSV or TSV file in batches.

    A batch is a list of columns, each a tuple of cell texts. Raises `DataError` on reaching a bad row, such as one with
    another number of cells than `column_count`.
    """
    rows = _rows(path, form, limits)
    next(rows)
    size = max(1, BATCH_CELLS // column_count)
    before = 0
    while batch := list(islice(rows, size)):
        for index, row in enumerate(batch):
            if len(row) != column_count:
                message = f"data row {before + index + 1} has {len(row)} cells, the header {column_count}"
                raise DataError("ragged_rows", f"{message}: quote cells that hold a delimiter")
        before += len(batch)
        yield list(zip(*batch, strict=True))


def _rows(path: str, form: DataFormat, limits: DataLimits) -> Iterator[list[str]]:
    """Yield all rows, the header first; empty lines are skipped."""
    with open_text_lines(path, limits, "not_csv") as lines:
        reader = csv.reader(lines, delimiter=_DELIMITERS[form], strict=True)
        try:
            yield from filter(None, reader)
        except csv.Error as error:
            message = f"not {form} by RFC 4180, at line {reader.line_num}: {error}"
            raise DataError("not_csv", f"{message}; check the quotes") from None


def check_column_names(names: tuple[str, ...], limits: DataLimits) -> None:
    """Raise `DataError` if a name occurs twice or is too long."""
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise DataError(
            "duplicate_column", f"more than one column is called {quote_names_for_message(twice)}: rename them"
        )
    long = [name for name in names if len(name) > limits.max_name]
    if long:
        raise DataError(
            "name_too_long", f"{quote_name_for_message(long[0])} has more than {limits.max_name} characters: shorten it"
        )


def _check_first_line(path: str, form: DataFormat, limits: DataLimits) -> None:
    """Raise `DataError` if the header looks like JSON, or is separated by another delimiter."""
    with open_text_lines(path, limits, "not_csv") as lines:
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
    """Text of a JSON number as it is written."""

    __slots__ = ()


def read_json_keys(path: str, limits: DataLimits) -> tuple[str, ...]:
    """Return all keys of a JSON lines file in order of first occurrence. Reads all lines.

    Raises `DataError` for an unreadable line, too many keys or a file without rows.
    """
    refuse_known_binary(path, DataFormat.JSON_LINES)
    keys: dict[str, None] = {}
    for record in _records(path, limits):
        if not record.keys() <= keys.keys():
            keys |= dict.fromkeys(record)
            if len(keys) > limits.max_columns:
                raise DataError("too_many_columns", f"more than {limits.max_columns} keys: leave some out")
    if not keys:
        raise DataError("no_rows", "there is no row in it")
    check_column_names(tuple(keys), limits)
    return tuple(keys)


def read_json_row_batches(path: str, keys: Sequence[str], limits: DataLimits) -> Iterator[list[tuple[str, ...]]]:
    """Yield the rows of a JSON lines file in batches.

    A batch is a list with a column for each of `keys`, each a tuple of cell texts. Strings begin with `TEXT_MARK`;
    arrays and objects are `NESTED_MARK`.
    """
    rows = (tuple(_cell_text(record.get(key)) for key in keys) for record in _records(path, limits))
    while batch := list(islice(rows, max(1, BATCH_CELLS // max(1, len(keys))))):
        yield list(zip(*batch, strict=True))


def _records(path: str, limits: DataLimits) -> Iterator[dict[str, Any]]:
    with open_text_lines(path, limits, "not_jsonl") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip(_JSON_BLANK):
                yield _parse_record(line, number)


def _parse_record(line: str, number: int) -> dict[str, Any]:
    try:
        record = _DECODER.decode(line.strip(_JSON_BLANK))
    except _DuplicateKey as error:
        raise DataError(
            "duplicate_column", f"line {number} has the key {quote_name_for_message(error.args[0])} twice"
        ) from None
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise DataError("not_jsonl", f"line {number} is no JSON object: give one object a line")
    return record


class _DuplicateKey(Exception):
    """Error for a JSON object that has the same key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _DuplicateKey(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_Number, parse_float=_Number, parse_constant=_Number)


def _cell_text(value: Any) -> str:
    """Return a JSON value as the text of a cell.

    A number is as written, a string or boolean follows `TEXT_MARK`. A null and a word for a missing value give an empty
    cell; an array or object gives `NESTED_MARK`.
    """
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
