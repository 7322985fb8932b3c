"""Bookings as text: CSV (RFC 4180) for spreadsheets, JSON Lines for programs."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from aex_models.settlement import LedgerTransaction
from aex_settlement.rules.export_columns import Cell, Column

_RUN = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What spreadsheets take for the beginning of a formula, also behind white space and in full width."""
_JSON = json.JSONEncoder(separators=(",", ":")).encode
"""In ASCII: some readers take U+2028 and its like for the end of a line."""


class ExportFormat(StrEnum):
    """How rows are written."""

    CSV = "csv"
    """A line of names, then a line for each row; every line ends with CR LF."""
    JSONL = "jsonl"
    """An object for each row, each on a line of its own; amounts are text, as everywhere."""


@dataclass(frozen=True, slots=True)
class Form:
    """A format: what comes before the rows, and the rows themselves."""

    media_type: str
    head: Callable[[Sequence[Column]], bytes]
    rows: Callable[[Sequence[Column], Iterable[LedgerTransaction]], bytes]


def _cells(columns: Sequence[Column], transactions: Iterable[LedgerTransaction]) -> Iterable[list[Cell]]:
    return ([column.of(each, each.booking) for column in columns] for each in transactions if each.booking is not None)


def _csv(rows: Iterable[Sequence[Cell]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()


def _csv_rows(columns: Sequence[Column], transactions: Iterable[LedgerTransaction]) -> bytes:
    """Amounts begin with a minus and are numbers; only free text is kept from being run."""
    free = [place for place, column in enumerate(columns) if column.free]
    flags = [place for place, column in enumerate(columns) if column.flag]
    rows = []
    for cells in _cells(columns, transactions):
        for place in free:
            text = str(cells[place])
            if text.startswith(_RUN):
                cells[place] = f"'{text}"
        for place in flags:
            cells[place] = "true" if cells[place] else "false"
        rows.append(cells)
    return _csv(rows)


def _jsonl_rows(columns: Sequence[Column], transactions: Iterable[LedgerTransaction]) -> bytes:
    names = [column.name for column in columns]
    rows = (_JSON(dict(zip(names, cells, strict=True))) for cells in _cells(columns, transactions))
    return "".join(f"{row}\n" for row in rows).encode()


FORMS: Mapping[ExportFormat, Form] = {
    ExportFormat.CSV: Form("text/csv; charset=utf-8", lambda columns: _csv([[c.name for c in columns]]), _csv_rows),
    ExportFormat.JSONL: Form("application/x-ndjson", lambda _: b"", _jsonl_rows),
}
