# ruff: noqa: S608 SQL is put together from words of this package; names and values are parameters
"""Cells and the table of a database that holds them.

A cell of a text file is missing, a number, a number that is not finite, or a text. A number has ASCII digits: an
optional sign, at most one decimal point, an optional exponent; blanks and tabs around it do not count.
Thousands separators, decimal commas, underscores, hexadecimal and other digits make a text. The database's own cast
accepts `1_000`, so that the pattern decides and the cast only converts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aex_models.statistics import MISSING_WORDS
from aex_outcomes.science.tables.database import LockedDatabase

MISSING, NUMBER, NOT_FINITE, TEXT, UNREADABLE = 0, 1, 2, 3, 4
"""Unreadable cells are present, but neither number nor text: lists, objects, bytes."""
NOT_FINITE_WORDS = ("nan", "+nan", "-nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")

TEXT_MARK = '"'
"""Prefix of a cell that is always a text, such as a JSON string of digits."""
NESTED_MARK = "{"
"""Replacement of a JSON array or object, used only beside marked texts."""
SEPARATOR = "\x1f"
"""The ASCII unit separator: a table that contains it is refused."""
_PATTERN = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def kind_sql(cell: str, *, marked: bool = False) -> str:
    """Return SQL for the kind of the trimmed text that the SQL `cell` yields."""
    nested = f"WHEN {cell} = '{NESTED_MARK}' THEN {UNREADABLE} " if marked else ""
    return (
        f"CASE {nested}WHEN {cell} IN {MISSING_WORDS} THEN {MISSING} "
        f"WHEN regexp_full_match({cell}, '{_PATTERN}') "
        f"THEN CASE WHEN isinf(TRY_CAST({cell} AS DOUBLE)) THEN {NOT_FINITE} ELSE {NUMBER} END "
        f"WHEN lower({cell}) IN {NOT_FINITE_WORDS} THEN {NOT_FINITE} ELSE {TEXT} END"
    )


def insert_sql(with_text: Sequence[bool], *, marked: bool) -> str:
    """Return SQL that adds a batch of rows to `cells`; one parameter a column.

    A parameter is a column's cells joined by `SEPARATOR`, because a list of a million texts costs ten times as much to
    hand over. `with_text`: for each column, true to keep its texts beside its numbers. `marked`: true if texts have the
    `TEXT_MARK`.
    """
    indexes = range(len(with_text))
    split = ", ".join(f"unnest(string_split(${index + 1}, chr({ord(SEPARATOR)}))) AS r{index}" for index in indexes)
    trimmed = ", ".join(f"trim(r{index}, ' ' || chr(9)) AS c{index}" for index in indexes)
    kinds = ", ".join(f"c{index}, {kind_sql(f'c{index}', marked=marked)} AS k{index}" for index in indexes)
    stored = ", ".join(_stored_sql(index, text, marked) for index, text in enumerate(with_text))
    return (
        f"INSERT INTO cells WITH split AS (SELECT {split}), trimmed AS MATERIALIZED (SELECT {trimmed} FROM split), "
        f"sorted AS (SELECT {kinds} FROM trimmed) SELECT {stored} FROM sorted"
    )


def _stored_sql(index: int, with_text: bool, marked: bool) -> str:
    number = f"CASE WHEN k{index} = {NUMBER} THEN TRY_CAST(c{index} AS DOUBLE) END"
    if not with_text:
        return f"k{index}, {number}, NULL"
    plain = f"CASE WHEN starts_with(c{index}, '{TEXT_MARK}') THEN substr(c{index}, 2) ELSE c{index} END"
    text = plain if marked else f"c{index}"
    return f"k{index}, {number}, CASE WHEN k{index} NOT IN ({MISSING}, {UNREADABLE}) THEN {text} END"


@dataclass(frozen=True, slots=True)
class DataColumn:
    """A column of the table. Its index names it in SQL; its own name never appears there."""

    index: int
    is_integer: bool = False
    """True for integers of 128 bits, which a double would round."""

    @property
    def kind(self) -> str:
        return f"k{self.index}"

    @property
    def number(self) -> str:
        """Return SQL for the number, null in other cells."""
        return f"n{self.index}"

    @property
    def text(self) -> str:
        """Return SQL for the text, null if missing or not requested."""
        return f"t{self.index}"


@dataclass(frozen=True, slots=True)
class DataTable:
    """Rows of one file, in order, in the table `cells` of its database, with the requested columns."""

    database: LockedDatabase
    columns: Mapping[str, DataColumn]


def create_sql(is_integer: list[bool]) -> str:
    """Return SQL for the empty table, with a flag for each column of integers."""
    columns = (
        f"k{index} UTINYINT, n{index} {'HUGEINT' if each else 'DOUBLE'}, t{index} VARCHAR"
        for index, each in enumerate(is_integer)
    )
    return f"CREATE TABLE cells ({', '.join(columns)})"
