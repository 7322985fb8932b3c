"""How a command tells what happens: one clear line a step, and tables; rich on a terminal, plain text when piped."""

from collections.abc import Sequence
from typing import IO, Protocol

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

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


class Report(Protocol):
    """Writes what happens as it happens."""

    def chapter(self, title: str) -> None:
        """A heading, with an empty line before it."""
        ...

    def step(self, label: str, told: str) -> None:
        """What kind of step it is, and what happened."""
        ...

    def command(self, label: str, line: str) -> None:
        """A line to copy: never broken into several."""
        ...

    def block(self, text: str) -> None:
        """Several lines as they are, below their step."""
        ...

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = (), folded: str = ""
    ) -> None:
        """Rows below their step; the columns named in `numbers` are set to the right.

        `folded`: the one column that gives way where there is little room; without it, all do.
        """
        ...


def report_on(console: Console) -> Report:
    """The report for where the output goes."""
    return TerminalReport(console) if console.is_terminal else PlainReport(console.file)


class PlainReport:
    """Plain text without control codes: each step is one line, however long."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def chapter(self, title: str) -> None:
        self._write("", title)

    def step(self, label: str, told: str) -> None:
        self._write(f"{'':{_MARGIN}}{label:{_LABEL}}{told}")

    def command(self, label: str, line: str) -> None:
        self.step(label, line)

    def block(self, text: str) -> None:
        self._write(*(_INDENT + line for line in text.splitlines()))

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        numbers: Sequence[str] = (),
        folded: str = "",  # noqa: ARG002 lines of plain text are never folded
    ) -> None:
        self._write(*(_TABLE_INDENT + line for line in aligned(columns, rows, numbers)))

    def _write(self, *lines: str) -> None:
        self._out.writelines(f"{line}\n" for line in lines)
        self._out.flush()


class TerminalReport:
    """Colours, and long lines folded below their beginning."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def chapter(self, title: str) -> None:
        self._console.print()
        self._console.print(Text(title, "bold"))

    def step(self, label: str, told: str) -> None:
        line = Table.grid()
        line.add_column(width=_LABEL)
        line.add_column(overflow="fold")
        line.add_row(_label(label), Text(told))
        self._console.print(Padding(line, (0, 0, 0, _MARGIN)))

    def command(self, label: str, line: str) -> None:
        self._console.print(Text(" " * _MARGIN) + _label(label) + Text(line), soft_wrap=True)

    def block(self, text: str) -> None:
        for line in text.splitlines():
            self._console.print(Text(_INDENT + line, "dim"))

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = (), folded: str = ""
    ) -> None:
        table = Table(box=None, header_style="bold", padding=(0, 1 if folded else 2, 0, 0))
        for column in columns:
            stiff = bool(folded) and column != folded
            table.add_column(column, justify="right" if column in numbers else "left", overflow="fold", no_wrap=stiff)
        for row in rows:
            table.add_row(*map(Text, row))
        self._console.print(Padding(table, (0, 0, 0, len(_TABLE_INDENT))))


def _label(label: str) -> Text:
    return Text(label.ljust(_LABEL), _STYLES.get(label, "cyan"))


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> list[str]:
    """Header and rows as lines of plain text whose columns stand below each other."""
    grid = [list(columns), *(list(row) for row in rows)]
    widths = [max(cell_len(cell) for cell in column) for column in zip(*grid, strict=True)]
    right = [column in numbers for column in columns]
    return ["  ".join(map(_set, row, widths, right)).rstrip() for row in grid]


def _set(cell: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space
