"""Columns of the settlement export, and its formats CSV (RFC 4180) and JSON Lines.

There is a row for each settlement transaction. Amounts of a reversal are negative, so that sums equal the breakdown's.
"""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from itertools import pairwise

from aex_models.allowlists import ALLOWED
from aex_models.audiences import Audience
from aex_models.corrections import Booking
from aex_models.settlement import LedgerTransaction

Cell = str | int | bool


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """Column of the export: name, description, and function that returns the value of a row."""

    name: str
    description: str
    value_of: Callable[[LedgerTransaction, Booking], Cell]
    may_be_formula: bool = False
    """True for text that a spreadsheet might run as a formula."""
    is_boolean: bool = False
    """True for a boolean value."""
    is_amount: bool = False
    """True for an amount of money, written in plain digits."""


def format_micros(micros: int) -> str:
    """Return an amount in micros as plain digits, such as `-0.25`, `10.00` or `0.000001`."""
    units, rest = divmod(abs(micros), 1_000_000)
    decimals = f"{rest:06d}".rstrip("0").ljust(2, "0") if rest else "00"
    return f"-{units}.{decimals}" if micros < 0 else f"{units}.{decimals}"


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _amount(name: str, description: str, figure: str) -> ExportColumn:
    return ExportColumn(name, description, lambda _, booking: format_micros(getattr(booking, figure)), is_amount=True)


COLUMNS = (
    ExportColumn(
        "booked_at",
        "time of the ledger transaction, RFC 3339, UTC: its day is the breakdown's",
        lambda t, _: _instant(t.occurred_at),
    ),
    ExportColumn("kind", "`settlement`, or `reversal`, whose amounts are negative", lambda t, _: t.kind.value),
    ExportColumn("contract_id", "the contract", lambda t, _: t.contract_id or "", may_be_formula=True),
    ExportColumn("work_id", "its work", lambda _, b: b.work_id, may_be_formula=True),
    ExportColumn("agent_id", "the agent", lambda _, b: b.agent_id, may_be_formula=True),
    ExportColumn("consumer_id", "the consumer", lambda _, b: b.consumer_id, may_be_formula=True),
    ExportColumn("domain", "the work's domain", lambda _, b: b.domain, may_be_formula=True),
    ExportColumn(
        "revision", "the revision of the contract's cost that is settled or reversed", lambda _, b: b.revision
    ),
    ExportColumn(
        "success",
        "whether the outcome succeeded: `true` or `false`",
        lambda _, b: b.success_count != 0,
        is_boolean=True,
    ),
    ExportColumn("currency", "of all amounts of the row, ISO 4217", lambda t, _: t.postings[0].currency),
    _amount("base", "`cpc` of the breakdown", "cpc"),
    _amount("bonus", "`cpa_bonus` of the breakdown", "cpa_bonus"),
    _amount("penalty", "`cpa_penalty` of the breakdown", "cpa_penalty"),
    _amount("total", "base + bonus − penalty", "total"),
    _amount("fee", "the platform's share of the total, borne by the agent", "fee"),
    _amount("bonus_capped", "bonus earned and removed by the cap", "bonus_capped"),
    _amount("penalty_waived", "penalty incurred and removed by the cap or the floor", "penalty_waived"),
    ExportColumn("transaction_id", "the ledger's transaction", lambda t, _: t.id, may_be_formula=True),
    ExportColumn("reason", "the transaction's reason", lambda t, _: t.reason, may_be_formula=True),
    ExportColumn("by", "the transaction's author; for finance only", lambda t, _: t.by, may_be_formula=True),
)
"""Columns in their order. New ones are added at the end."""


def visible_columns(audience: Audience) -> tuple[ExportColumn, ...]:
    """Return the columns that an audience may see, by the allow-list of `LedgerTransaction`."""
    allowed = ALLOWED[LedgerTransaction][audience.value]
    return tuple(
        column for column in COLUMNS if column.name not in LedgerTransaction.model_fields or column.name in allowed
    )


_RUN = ("=", "+", "-", "@", "−")
"""First characters of a spreadsheet formula; the last is U+2212."""
_BREAKS = ("\t", "\r", "\n")
_PLAIN = re.compile(r"[A-Za-z0-9_][^;\t\r\n]*")
_PARTS = re.compile(r"[;\t\r\n]")
"""Separators of cells; a spreadsheet separates by `;` where the comma is for decimals."""
_JSON = json.JSONEncoder(separators=(",", ":")).encode
"""JSON encoder that writes only ASCII, because some readers end a line at U+2028."""


class ExportFormat(StrEnum):
    """Formats of the settlement export."""

    CSV = "csv"
    """Header line, then one line per row; lines end with CR LF."""
    JSONL = "jsonl"
    """JSON object per line; amounts are text."""


@dataclass(frozen=True, slots=True)
class ExportEncoder:
    """Encoder of an export format: media type, and functions that return the header and rows as bytes."""

    media_type: str
    head: Callable[[Sequence[ExportColumn]], bytes]
    rows: Callable[[Sequence[ExportColumn], Iterable[LedgerTransaction]], bytes]


def _cells(columns: Sequence[ExportColumn], transactions: Iterable[LedgerTransaction]) -> Iterable[list[Cell]]:
    return (
        [column.value_of(each, each.booking) for column in columns] for each in transactions if each.booking is not None
    )


def _csv_rows(columns: Sequence[ExportColumn], transactions: Iterable[LedgerTransaction]) -> bytes:
    """Return CSV lines with all text quoted, formulas escaped, and amounts as numbers."""
    free = [index for index, column in enumerate(columns) if column.may_be_formula]
    flags = [index for index, column in enumerate(columns) if column.is_boolean]
    amounts = [index for index, column in enumerate(columns) if column.is_amount]
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    for cells in _cells(columns, transactions):
        row: list[Cell | Decimal] = [*cells]
        for index in free:
            row[index] = escape_formulas(str(cells[index]))
        for index in flags:
            row[index] = "true" if cells[index] else "false"
        for index in amounts:
            row[index] = Decimal(cells[index])
        writer.writerow(row)
    return text.getvalue().encode()


def escape_formulas(text: str) -> str:
    """Return the text with an apostrophe before each part that a spreadsheet would run as a formula."""
    if _PLAIN.fullmatch(text) is not None:
        return text  # the usual case
    ends = [0, *(each.end() for each in _PARTS.finditer(text)), len(text)]
    parts = [text[start:end] for start, end in pairwise(ends)]
    kept = "".join(f"'{part}" if _would_run(part) else part for part in parts)
    return f"'{kept}" if text.startswith(_BREAKS) else kept


def _would_run(part: str) -> bool:
    """Return whether the first visible character begins a formula."""
    normalised = unicodedata.normalize("NFKC", part)
    first = next((each for each in normalised if unicodedata.category(each)[0] not in "CZ"), "")
    return first in _RUN


def _jsonl_rows(columns: Sequence[ExportColumn], transactions: Iterable[LedgerTransaction]) -> bytes:
    names = [column.name for column in columns]
    rows = (_JSON(dict(zip(names, cells, strict=True))) for cells in _cells(columns, transactions))
    return "".join(f"{row}\n" for row in rows).encode()


EXPORT_ENCODERS: Mapping[ExportFormat, ExportEncoder] = {
    ExportFormat.CSV: ExportEncoder(
        "text/csv; charset=utf-8",
        lambda columns: f"{','.join(column.name for column in columns)}\r\n".encode(),
        _csv_rows,
    ),
    ExportFormat.JSONL: ExportEncoder("application/x-ndjson", lambda _: b"", _jsonl_rows),
}
