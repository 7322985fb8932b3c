"""Bookings as text: CSV (RFC 4180) for spreadsheets, JSON Lines for programs."""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise

from aex_models.settlement import LedgerTransaction
from aex_settlement.rules.export_columns import Cell, Column

_RUN = ("=", "+", "-", "@", "−")
"""What spreadsheets take for the beginning of a formula, once its width is put aside; the last is U+2212."""
_BREAKS = ("\t", "\r", "\n")
_PLAIN = re.compile(r"[A-Za-z0-9_][^;\t\r\n]*")
_PARTS = re.compile(r"[;\t\r\n]")
"""Where a spreadsheet may begin another cell: it separates by `;` where the comma is for decimals."""
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


def _csv_head(columns: Sequence[Column]) -> bytes:
    return f"{','.join(column.name for column in columns)}\r\n".encode()


def _csv_rows(columns: Sequence[Column], transactions: Iterable[LedgerTransaction]) -> bytes:
    """Amounts begin with a minus and are numbers; only free text is kept from being run. All text is quoted."""
    free = [place for place, column in enumerate(columns) if column.free]
    flags = [place for place, column in enumerate(columns) if column.flag]
    amounts = [place for place, column in enumerate(columns) if column.amount]
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    for cells in _cells(columns, transactions):
        row: list[Cell | Decimal] = [*cells]
        for place in free:
            row[place] = not_run(str(cells[place]))
        for place in flags:
            row[place] = "true" if cells[place] else "false"
        for place in amounts:
            row[place] = Decimal(cells[place])
        writer.writerow(row)
    return text.getvalue().encode()


def not_run(text: str) -> str:
    """The text with an apostrophe in front of each part of it that a spreadsheet would run as a formula."""
    if _PLAIN.fullmatch(text) is not None:
        return text  # nearly all
    ends = [0, *(each.end() for each in _PARTS.finditer(text)), len(text)]
    parts = [text[start:end] for start, end in pairwise(ends)]
    kept = "".join(f"'{part}" if _would_run(part) else part for part in parts)
    return f"'{kept}" if text.startswith(_BREAKS) else kept


def _would_run(part: str) -> bool:
    """Whether it begins as a formula does, once nothing is in front that a spreadsheet drops or does not show."""
    folded = unicodedata.normalize("NFKC", part)
    first = next((each for each in folded if unicodedata.category(each)[0] not in "CZ"), "")
    return first in _RUN


def _jsonl_rows(columns: Sequence[Column], transactions: Iterable[LedgerTransaction]) -> bytes:
    names = [column.name for column in columns]
    rows = (_JSON(dict(zip(names, cells, strict=True))) for cells in _cells(columns, transactions))
    return "".join(f"{row}\n" for row in rows).encode()


FORMS: Mapping[ExportFormat, Form] = {
    ExportFormat.CSV: Form("text/csv; charset=utf-8", _csv_head, _csv_rows),
    ExportFormat.JSONL: Form("application/x-ndjson", lambda _: b"", _jsonl_rows),
}
