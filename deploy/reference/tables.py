"""Sections of the reference as Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deploy.reference.fields import Row

KEY_COLUMNS = ("key", "type", "default", "unit", "meaning")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, its introduction and its table."""

    title: str
    introduction: str
    table: str

    def markdown(self) -> str:
        return "\n\n".join(part for part in (f"## {self.title}", self.introduction, self.table) if part) + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; cells may hold any text."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def table_of_keys(rows: Iterable[Row]) -> str:
    """Return the table of a document's keys."""
    cells = ((f"`{each.name}`", each.type, each.default, each.unit, each.meaning) for each in rows)
    return table(KEY_COLUMNS, cells)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
