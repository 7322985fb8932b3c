"""The columns of the settlement export, and its formats: CSV (RFC 4180) and JSON Lines.

One row per settlement transaction; a reversal's amounts are negative, so that sums are those of the breakdown.
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
    """A column: its name, its description, and its value.

    `free`: text that a spreadsheet might run. `flag`: true or false. `amount`: money in plain digits.
    """

    name: str
    about: str
    of: Callable[[LedgerTransaction, Booking], Cell]
    free: bool = False
    flag: bool = False
    amount: bool = False


def amount_text(micros: int) -> str:
    """Return micros in plain digits as `format_amount` does: `-0.25`, `10.00`, `0.000001`."""
    units, rest = divmod(abs(micros), 1_000_000)
    decimals = f"{rest:06d}".rstrip("0").ljust(2, "0") if rest else "00"
    return f"-{units}.{decimals}" if micros < 0 else f"{units}.{decimals}"


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _amount(name: str, about: str, figure: str) -> ExportColumn:
    return ExportColumn(name, about, lambda _, booking: amount_text(getattr(booking, figure)), amount=True)


COLUMNS = (
    ExportColumn(
        "booked_at",
        "time of the ledger transaction, RFC 3339, UTC: its day is the breakdown's",
        lambda t, _: _instant(t.occurred_at),
    ),
    ExportColumn("kind", "`settlement`, or `reversal`, whose amounts are negative", lambda t, _: t.kind.value),
    ExportColumn("contract_id", "the contract", lambda t, _: t.contract_id or "", free=True),
    ExportColumn("work_id", "its work", lambda _, b: b.work_id, free=True),
    ExportColumn("agent_id", "the agent", lambda _, b: b.agent_id, free=True),
    ExportColumn("consumer_id", "the consumer", lambda _, b: b.consumer_id, free=True),
    ExportColumn("domain", "the work's domain", lambda _, b: b.domain, free=True),
    ExportColumn(
        "revision", "the revision of the contract's cost that is settled or reversed", lambda _, b: b.revision
    ),
    ExportColumn(
        "success", "whether the outcome succeeded: `true` or `false`", lambda _, b: b.success_count != 0, flag=True
    ),
    ExportColumn("currency", "of all amounts of the row, ISO 4217", lambda t, _: t.postings[0].currency),
    _amount("base", "`cpc` of the breakdown", "cpc"),
    _amount("bonus", "`cpa_bonus` of the breakdown", "cpa_bonus"),
    _amount("penalty", "`cpa_penalty` of the breakdown", "cpa_penalty"),
    _amount("total", "base + bonus − penalty", "total"),
    _amount("fee", "the platform's share of the total, borne by the agent", "fee"),
    _amount("bonus_capped", "bonus earned and removed by the cap", "bonus_capped"),
    _amount("penalty_waived", "penalty incurred and removed by the cap or the floor", "penalty_waived"),
    ExportColumn("transaction_id", "the ledger's transaction", lambda t, _: t.id, free=True),
    ExportColumn("reason", "the transaction's reason", lambda t, _: t.reason, free=True),
    ExportColumn("by", "the transaction's author; for finance only", lambda t, _: t.by, free=True),
)
"""In their order. New columns are added at the end."""


def columns_for(audience: Audience) -> tuple[ExportColumn, ...]:
    """Return the columns for an audience: those of the ledger transaction by its allow-list."""
    allowed = ALLOWED[LedgerTransaction][audience.value]
    return tuple(
        column for column in COLUMNS if column.name not in LedgerTransaction.model_fields or column.name in allowed
    )


_RUN = ("=", "+", "-", "@", "−")
"""First characters of a formula in spreadsheets, in any width; the last is U+2212."""
_BREAKS = ("\t", "\r", "\n")
_PLAIN = re.compile(r"[A-Za-z0-9_][^;\t\r\n]*")
_PARTS = re.compile(r"[;\t\r\n]")
"""Separators of cells: spreadsheets use `;` if the comma is for decimals."""
_JSON = json.JSONEncoder(separators=(",", ":")).encode
"""In ASCII: some readers end a line at U+2028."""


class ExportFormat(StrEnum):
    """The formats of the export."""

    CSV = "csv"
    """A line of names, then a line for each row; lines end with CR LF."""
    JSONL = "jsonl"
    """Format with an object per line; amounts are text."""


@dataclass(frozen=True, slots=True)
class Form:
    """A format: its media type, its head and its rows."""

    media_type: str
    head: Callable[[Sequence[ExportColumn]], bytes]
    rows: Callable[[Sequence[ExportColumn], Iterable[LedgerTransaction]], bytes]


def _cells(columns: Sequence[ExportColumn], transactions: Iterable[LedgerTransaction]) -> Iterable[list[Cell]]:
    return ([column.of(each, each.booking) for column in columns] for each in transactions if each.booking is not None)


def _csv_rows(columns: Sequence[ExportColumn], transactions: Iterable[LedgerTransaction]) -> bytes:
    """Quote all text, and keep free text from being run; amounts are numbers."""
    free = [index for index, column in enumerate(columns) if column.free]
    flags = [index for index, column in enumerate(columns) if column.flag]
    amounts = [index for index, column in enumerate(columns) if column.amount]
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
    """Put an apostrophe in front of each part that a spreadsheet would run as a formula."""
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


FORMS: Mapping[ExportFormat, Form] = {
    ExportFormat.CSV: Form(
        "text/csv; charset=utf-8",
        lambda columns: f"{','.join(column.name for column in columns)}\r\n".encode(),
        _csv_rows,
    ),
    ExportFormat.JSONL: Form("application/x-ndjson", lambda _: b"", _jsonl_rows),
}
