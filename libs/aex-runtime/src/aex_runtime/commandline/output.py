"""What commands print: rich tables on a terminal, tab-separated lines when piped, errors on stderr."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

EMPTY = "–"


def complain(line: str) -> None:
    """One line on stderr, with the command's name before it."""
    sys.stderr.write(f"aex: {line}\n")
    sys.stderr.flush()


def write_line(line: str) -> None:
    """One line on stdout, at once: whoever reads the pipe is waiting for it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def write_json(value: Any) -> None:
    """A JSON document on stdout."""
    write_line(json.dumps(value, indent=2, ensure_ascii=False))


def write_rows(columns: Sequence[str], rows: Sequence[Mapping[str, object]], title: str = "") -> None:
    """Rows of named cells: a table on a terminal, otherwise a header and tab-separated lines."""
    console = Console()
    if not console.is_terminal:
        write_line("\t".join(columns))
        for row in rows:
            write_line("\t".join(_plain(row.get(column)) for column in columns))
        return
    table = Table(*columns, title=escape(title) or None, title_justify="left", header_style="bold")
    for row in rows:
        table.add_row(*(escape(_text(row.get(column))) for column in columns))
    console.print(table)


def _text(cell: object) -> str:
    return EMPTY if cell is None else str(cell)


def _plain(cell: object) -> str:
    """A cell that stays on its line and in its column."""
    return "" if cell is None else " ".join(str(cell).split())
