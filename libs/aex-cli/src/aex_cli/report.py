"""Output of commands: printed steps and tables for terminals or pipes, and atomically written files."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from aex_runtime.commandline import CommandFailed, UserError

_MARGIN, _LABEL = 2, 11
_INDENT = " " * (_MARGIN + _LABEL)
_TABLE_INDENT = " " * 2 * _MARGIN
_STYLES = {
    "passed": "bold green",
    "rejected": "bold yellow",
    "valid": "bold green",
    "invalid": "bold red",
    "problem": "red",
    "warning": "yellow",
}


class Report:
    """A printer of headings, steps and tables as plain text, with each step on one line."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def print_heading(self, title: str) -> None:
        """Print a heading after an empty line."""
        self._write("", title)

    def print_step(self, label: str, text: str) -> None:
        """Print one line: a label such as `publish`, and a text."""
        self._write(f"{'':{_MARGIN}}{label:{_LABEL}}{text}")

    def print_command(self, label: str, line: str) -> None:
        """Print a label and a shell command for the user to copy. The line is never wrapped."""
        self.print_step(label, line)

    def print_block(self, text: str) -> None:
        """Print the lines of `text`, indented below the last step."""
        self._write(*(_INDENT + line for line in text.splitlines()))

    def print_table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        right_aligned: Sequence[str] = (),
        wrapped_column: str = "",
    ) -> None:
        """Print a table below the last step.

        `right_aligned`: names of columns to align to the right. `wrapped_column`: the only column that a narrow
        terminal wraps; if empty, all columns are wrapped.
        """
        del wrapped_column  # lines of plain text are never wrapped
        self._write(*(_TABLE_INDENT + line for line in align_columns(columns, rows, right_aligned)))

    def _write(self, *lines: str) -> None:
        self._out.writelines(f"{line}\n" for line in lines)
        self._out.flush()


class TerminalReport(Report):
    """A report for terminals: with colours, and with long texts wrapped in their column."""

    def __init__(self, console: Console) -> None:
        super().__init__(console.file)
        self._console = console

    def print_heading(self, title: str) -> None:
        self._console.print()
        self._console.print(Text(title, "bold"))

    def print_step(self, label: str, text: str) -> None:
        line = Table.grid()
        line.add_column(width=_LABEL)
        line.add_column(overflow="fold")
        line.add_row(_style_label(label), Text(text))
        self._console.print(Padding(line, (0, 0, 0, _MARGIN)))

    def print_command(self, label: str, line: str) -> None:
        self._console.print(Text(" " * _MARGIN) + _style_label(label) + Text(line), soft_wrap=True)

    def print_block(self, text: str) -> None:
        for line in text.splitlines():
            self._console.print(Text(_INDENT + line, "dim"))

    def print_table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        right_aligned: Sequence[str] = (),
        wrapped_column: str = "",
    ) -> None:
        table = Table(box=None, header_style="bold", padding=(0, 1 if wrapped_column else 2, 0, 0))
        for column in columns:
            fixed = bool(wrapped_column) and column != wrapped_column
            table.add_column(
                column, justify="right" if column in right_aligned else "left", overflow="fold", no_wrap=fixed
            )
        for row in rows:
            table.add_row(*map(Text, row))
        self._console.print(Padding(table, (0, 0, 0, len(_TABLE_INDENT))))


def create_report(console: Console) -> Report:
    """Return a report that suits the console: coloured for a terminal, plain for a pipe."""
    return TerminalReport(console) if console.is_terminal else Report(console.file)


def _style_label(label: str) -> Text:
    return Text(label.ljust(_LABEL), _STYLES.get(label, "cyan"))


def align_columns(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right_aligned: Sequence[str] = ()
) -> list[str]:
    """Return a table as lines of plain text: the header, then the rows, with aligned columns.

    `right_aligned`: names of columns to align to the right.
    """
    grid = [list(columns), *(list(row) for row in rows)]
    widths = [max(cell_len(cell) for cell in column) for column in zip(*grid, strict=True)]
    right = [column in right_aligned for column in columns]
    return ["  ".join(map(_pad, row, widths, right)).rstrip() for row in grid]


def _pad(cell: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space


@contextmanager
def write_atomically(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` if the block succeeds, and is deleted if it fails.

    Raises `UserError` for an unusable path, `CommandFailed` if writing fails.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder", "name a file")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}", "name a file in a writable folder") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        raise CommandFailed(f"{path} could not be written: {error.strerror}") from None
    finally:
        Path(name).unlink(missing_ok=True)
