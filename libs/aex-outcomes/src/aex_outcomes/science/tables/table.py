"""The one table of a database, and what its columns hold."""

from collections.abc import Mapping
from dataclasses import dataclass

from aex_outcomes.science.tables.database import Database


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it was read. Its place names it in SQL; its own name never gets there."""

    place: int
    whole: bool = False
    """Whether numbers are held as integers of 128 bits, which a double would round."""

    @property
    def kind(self) -> str:
        """SQL: what each cell is, as in `cells`."""
        return f"k{self.place}"

    @property
    def number(self) -> str:
        """SQL: the number, null where the cell is none."""
        return f"n{self.place}"

    @property
    def text(self) -> str:
        """SQL: the text, null where it is missing or was not asked for."""
        return f"t{self.place}"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one file, in its order, in the table `cells` of its database: those columns that were asked for."""

    database: Database
    columns: Mapping[str, Column]
    rows: int


def creation(whole: list[bool]) -> str:
    """SQL: the empty table of so many columns; of each, whether it holds whole numbers."""
    columns = (
        f"k{place} UTINYINT, n{place} {'HUGEINT' if each else 'DOUBLE'}, t{place} VARCHAR"
        for place, each in enumerate(whole)
    )
    return f"CREATE TABLE cells ({', '.join(columns)})"
