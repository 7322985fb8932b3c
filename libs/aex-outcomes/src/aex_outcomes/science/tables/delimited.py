"""CSV and TSV: RFC 4180 with a header row, one file in one pass.

The standard library's parser, in its strict mode: the database's own reader was measured to leave out the rows after a
quote that is never closed, and to take a row with one delimiter too many, without a word.
"""

import csv
import re
from collections.abc import Iterator
from itertools import islice

from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.source import Format
from aex_outcomes.science.tables.bytes_of_file import check_is_text
from aex_outcomes.science.tables.errors import DataError, listed, quoted
from aex_outcomes.science.tables.lines import lines_of

_DELIMITERS = {Format.CSV: ",", Format.TSV: "\t"}
_OTHERS = {";": "semicolons", ",": "commas", "\t": "tabs", "|": "bars"}
BATCH_CELLS = 200_000
_BLANK = " \t"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_JSON = re.compile(r'\s*(?:\{\s*(?:"|\}?\s*$)|\[\s*(?:[\[{"]|\]?\s*$))')
"""How a first line begins that is an object or an array, and hardly a header."""


def header_of(path: str, form: Format, limits: DataLimits) -> tuple[str, ...]:
    """The names of the columns, without blanks around them. Raises `DataError`."""
    check_is_text(path, form)
    _check_is_no_json(path, form, limits)
    _check_delimiter(path, form, limits)
    for row in _rows(path, form, limits):
        return _checked(row, limits)
    raise DataError("empty_file", "the file has no header: give one, and rows")


def batches_of(path: str, form: Format, columns: int, limits: DataLimits) -> Iterator[list[tuple[str, ...]]]:
    """All rows below the header, some at a time, column by column. Raises `DataError`, also half way through."""
    rows = _rows(path, form, limits)
    next(rows)
    size = max(1, BATCH_CELLS // columns)
    before = 0
    while batch := list(islice(rows, size)):
        for place, row in enumerate(batch):
            if len(row) != columns:
                message = f"data row {before + place + 1} has {len(row)} cells, the header {columns}"
                raise DataError("ragged_rows", f"{message}: quote cells that hold a delimiter")
        before += len(batch)
        yield list(zip(*batch, strict=True))


def _rows(path: str, form: Format, limits: DataLimits) -> Iterator[list[str]]:
    """All rows, the header too; lines without anything on them are none."""
    with lines_of(path, limits, "not_csv") as lines:
        reader = csv.reader(lines, delimiter=_DELIMITERS[form], strict=True)
        try:
            yield from filter(None, reader)
        except csv.Error as error:
            message = f"not {form} by RFC 4180, at line {reader.line_num}: {error}"
            raise DataError("not_csv", f"{message}; check the quotes") from None


def _checked(header: list[str], limits: DataLimits) -> tuple[str, ...]:
    names = tuple(name.strip(_BLANK) for name in header)
    if len(names) > limits.max_columns:
        raise DataError("too_many_columns", f"{len(names)} columns, more than {limits.max_columns}: leave some out")
    blank = [str(place) for place, name in enumerate(names, start=1) if not name]
    if blank and len(names) > 1 and len(blank) < len(names):
        names = tuple(name or f"column {place}" for place, name in enumerate(names, start=1))
    elif blank:
        raise DataError("duplicate_column", "the header has no names: give each column one")
    check_names(names, limits)
    return names


def check_names(names: tuple[str, ...], limits: DataLimits) -> None:
    """Raises `DataError` for names that are there twice, or too long."""
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise DataError("duplicate_column", f"more than one column is called {listed(twice)}: rename them")
    long = [name for name in names if len(name) > limits.max_name]
    if long:
        raise DataError("name_too_long", f"{quoted(long[0])} has more than {limits.max_name} characters: shorten it")


def _check_is_no_json(path: str, form: Format, limits: DataLimits) -> None:
    with lines_of(path, limits, "not_csv") as lines:
        if _JSON.match(next(lines, "")):
            what = "give one object a line, as application/jsonl"
            raise DataError("not_csv", f"this looks like JSON, not {form}: {what}, or give {form} with a header")


def _check_delimiter(path: str, form: Format, limits: DataLimits) -> None:
    """Raises `DataError` where the first line has other delimiters, outside quotes, and none of its own."""
    with lines_of(path, limits, "not_csv") as lines:
        bare = _QUOTED.sub("", next(lines, ""))
    if _DELIMITERS[form] in bare or '"' in bare:
        return
    for sign, what in _OTHERS.items():
        if sign in bare:
            wanted = "commas" if form is Format.CSV else "tabs"
            message = f"the header seems to be separated by {what}; {form} is separated by {wanted}: save it so"
            raise DataError("wrong_delimiter", f"{message}, with a point before decimals")
