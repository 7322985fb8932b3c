"""Errors and output of commands. Every command imports it, so that it loads nothing slow."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

EMPTY = "–"


class UserError(Exception):
    """An error that the user can fix, printed as one line without a traceback.

    `message` is the problem, `fix` the next step.
    """

    exit_code = 2

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.fix = message, fix

    def text(self) -> str:
        """Return the message and the fix as one line."""
        return " ".join((f"{self.message}; {self.fix}" if self.fix else self.message).split())


class CommandFailed(UserError):
    """A failure that the user did not cause. Its message may have several lines, such as the end of a log."""

    exit_code = 1

    def text(self) -> str:
        return self.message


def print_error(line: str) -> None:
    """Write one line to stderr, after the command's name."""
    sys.stderr.write(f"aex: {line}\n")
    sys.stderr.flush()


def write_line_to_stdout(line: str) -> None:
    """Write one line to stdout and flush it, so that the reader of a pipe gets it at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def write_json_to_stdout(value: Any) -> None:
    """Write a value to stdout as indented JSON."""
    write_line_to_stdout(json.dumps(value, indent=2, ensure_ascii=False))


def write_rows_to_stdout(columns: Sequence[str], rows: Sequence[Mapping[str, object]], title: str = "") -> None:
    """Write rows, given as cells by column name, to stdout.

    A terminal gets a table with the title. A pipe gets no title, but a header and lines with tabs.
    """
    from rich import console, markup, table  # noqa: PLC0415 half of the start of a command that prints none

    terminal = console.Console()
    if not terminal.is_terminal:
        write_line_to_stdout("\t".join(columns))
        for row in rows:
            cells = ("" if cell is None else " ".join(str(cell).split()) for cell in map(row.get, columns))
            write_line_to_stdout("\t".join(cells))
        return
    titled = table.Table(*columns, title=markup.escape(title) or None, title_justify="left", header_style="bold")
    for row in rows:
        titled.add_row(*(markup.escape(EMPTY if cell is None else str(cell)) for cell in map(row.get, columns)))
    terminal.print(titled)


class ProgressCallback(Protocol):
    """Function that a long operation calls with its stage, the amount done and the total."""

    def __call__(self, stage: str, done: int, total: int, /) -> None: ...


@contextmanager
def progress_bars() -> Iterator[ProgressCallback]:
    """Yield a callback that draws a progress bar for each stage on stderr.

    Without a terminal it draws nothing.
    """
    from rich import console, progress  # noqa: PLC0415 as in `write_rows_to_stdout`

    terminal = console.Console(stderr=True)
    description = progress.TextColumn("{task.description}")
    columns = (description, progress.BarColumn(), progress.MofNCompleteColumn(), progress.TimeElapsedColumn())
    stages: dict[str, progress.TaskID] = {}
    with progress.Progress(*columns, console=terminal, disable=not terminal.is_terminal, transient=True) as bars:

        def update(stage: str, done: int, total: int, /) -> None:
            if stage not in stages:
                stages[stage] = bars.add_task(stage, total=total)
            bars.update(stages[stage], completed=done, total=total)

        yield update
