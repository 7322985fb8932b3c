"""How the demo tells its story: one clear line a step, tables, rich on a terminal and plain text when piped."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

_LABEL_WIDTH = 11
_INDENT = 2 + _LABEL_WIDTH
_STYLES = {"passed": "bold green", "rejected": "bold yellow", "warning": "yellow"}


class Report:
    """Writes the story as it happens."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def chapter(self, title: str) -> None:
        """A heading, with an empty line before it."""
        self._line("", "")
        self._line(title, f"[bold]{escape(title)}[/]")

    def step(self, label: str, told: str) -> None:
        """One line: what kind of step it is, and what happened."""
        padded = label.ljust(_LABEL_WIDTH)
        style = _STYLES.get(label, "cyan")
        self._line(f"  {padded}{told}", f"  [{style}]{padded}[/]{escape(told)}")

    def block(self, text: str) -> None:
        """Several lines as they are, below their step."""
        for line in text.splitlines():
            self._line(f"{'':{_INDENT}}{line}", f"{'':{_INDENT}}[dim]{escape(line)}[/]")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> None:
        """Rows below their step; the columns named in `numbers` are set to the right."""
        if not self._console.is_terminal:
            for line in aligned(columns, rows, numbers):
                self._line(f"{'':{_INDENT}}{line}", "")
            return
        table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
        for column in columns:
            table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*(escape(cell) for cell in row))
        self._console.print(Padding(table, (0, 0, 0, _INDENT)))

    def _line(self, plain: str, marked: str) -> None:
        if self._console.is_terminal:
            self._console.print(marked, highlight=False)
        else:
            self._console.file.write(f"{plain}\n")
            self._console.file.flush()


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = ()) -> list[str]:
    """Header and rows as lines of plain text whose columns stand below each other."""
    grid = [list(columns), *(list(row) for row in rows)]
    widths = [max(cell_len(cell) for cell in column) for column in zip(*grid, strict=True)]
    right = [column in numbers for column in columns]
    return ["  ".join(_set(*each) for each in zip(row, widths, right, strict=True)).rstrip() for row in grid]


def _set(cell: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(cell))
    return space + cell if right else cell + space
