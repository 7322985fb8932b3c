# ruff: noqa: S608 SQL is put together from words of this package; names and values are parameters
"""Database table `cells`, which holds the raw data, and the SQL that fills it from text files.

A cell of a text file is missing, a number, a number that is not finite, or a text. A number has ASCII digits
with at most one decimal point, and may have a sign and an exponent. Blanks and tabs around it are ignored.
Anything else is a text, also with thousands separators, decimal commas, underscores or hexadecimal digits. A regular
expression decides this, because the database's own cast accepts `1_000`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aex_models.statistics import MISSING_WORDS
from aex_outcomes.science.tables.database import LockedDatabase

MISSING, NUMBER, NOT_FINITE, TEXT, UNREADABLE = 0, 1, 2, 3, 4
"""Kinds of cells. Unreadable cells are present, but neither number nor text: lists, objects, bytes."""
NOT_FINITE_WORDS = ("nan", "+nan", "-nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")

TEXT_MARK = '"'
"""Prefix that makes a cell a text whatever follows, such as a JSON string of digits."""
NESTED_MARK = "{"
"""Cell that stands for a JSON array or object; used only where texts have the prefix `TEXT_MARK`."""
SEPARATOR = "\x1f"
"""ASCII unit separator, which joins cells; a file that contains it is refused."""
_PATTERN = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def cell_kind_sql(cell_sql: str, *, has_marks: bool = False) -> str:
    """Return SQL for the kind of a cell (`MISSING`, `NUMBER`, …).

    `cell_sql`: SQL that yields the cell's trimmed text. `has_marks`: the cells use `TEXT_MARK` and `NESTED_MARK`.
    """
    nested = f"WHEN {cell_sql} = '{NESTED_MARK}' THEN {UNREADABLE} " if has_marks else ""
    return (
        f"CASE {nested}WHEN {cell_sql} IN {MISSING_WORDS} THEN {MISSING} "
        f"WHEN regexp_full_match({cell_sql}, '{_PATTERN}') "
        f"THEN CASE WHEN isinf(TRY_CAST({cell_sql} AS DOUBLE)) THEN {NOT_FINITE} ELSE {NUMBER} END "
        f"WHEN lower({cell_sql}) IN {NOT_FINITE_WORDS} THEN {NOT_FINITE} ELSE {TEXT} END"
    )


def insert_cells_sql(with_text: Sequence[bool], *, has_marks: bool, groups: int = 0) -> str:
    """Return SQL that adds a batch of rows of a text file to the table `cells`.

    It takes one parameter per column, the column's cells joined by `SEPARATOR`. Passing a list of a million texts takes
    ten times as long. `with_text`: for each column, true to store its texts beside its numbers. `has_marks`: the cells
    use `TEXT_MARK` and `NESTED_MARK`. After these it takes a parameter for each of the `groups`: a character per row,
    or null.
    """
    indexes = range(len(with_text))
    split = ", ".join(f"unnest(string_split(${index + 1}, chr({ord(SEPARATOR)}))) AS r{index}" for index in indexes)
    trimmed = ", ".join(f"trim(r{index}, ' ' || chr(9)) AS c{index}" for index in indexes)
    kinds = ", ".join(f"c{index}, {cell_kind_sql(f'c{index}', has_marks=has_marks)} AS k{index}" for index in indexes)
    stored = ", ".join(_stored_sql(index, text, has_marks) for index, text in enumerate(with_text))
    for index in range(groups):
        split += f", unnest(string_split(${len(with_text) + index + 1}, '')) AS g{index}"
        trimmed, kinds, stored = f"{trimmed}, g{index}", f"{kinds}, g{index}", f"{stored}, ascii(g{index})"
    return (
        f"INSERT INTO cells WITH split AS (SELECT {split}), trimmed AS MATERIALIZED (SELECT {trimmed} FROM split), "
        f"sorted AS (SELECT {kinds} FROM trimmed) SELECT {stored} FROM sorted"
    )


def _stored_sql(index: int, with_text: bool, has_marks: bool) -> str:
    number = f"CASE WHEN k{index} = {NUMBER} THEN TRY_CAST(c{index} AS DOUBLE) END"
    if not with_text:
        return f"k{index}, {number}, NULL"
    plain = f"CASE WHEN starts_with(c{index}, '{TEXT_MARK}') THEN substr(c{index}, 2) ELSE c{index} END"
    text = plain if has_marks else f"c{index}"
    return f"k{index}, {number}, CASE WHEN k{index} NOT IN ({MISSING}, {UNREADABLE}) THEN {text} END"


@dataclass(frozen=True, slots=True)
class DataColumn:
    """Column of the file in the table `cells`.

    SQL names it by its index, never by the name that its sender chose.
    """

    index: int
    is_integer: bool = False
    """True if its numbers are stored as integers of 128 bits, because doubles would round them."""

    @property
    def kind_sql(self) -> str:
        """Return SQL for the kind of the cell (`MISSING`, `NUMBER`, …)."""
        return f"k{self.index}"

    @property
    def number_sql(self) -> str:
        """Return SQL for the number in the cell, null in a cell of another kind."""
        return f"n{self.index}"

    @property
    def text_sql(self) -> str:
        """Return SQL for the cell's text.

        It is null in missing and unreadable cells, and in columns stored without texts.
        """
        return f"t{self.index}"


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """Column of integers or texts with few different values, stored as a code in each row."""

    index: int
    values: Mapping[int, int | str]
    """Value by its code; missing cells have no value."""
    other_codes: Mapping[int, int] = field(default_factory=dict)
    """Codes of other spellings of a value, such as `1.0` for 1, with the code that `values` has for it."""

    @property
    def code_sql(self) -> str:
        """Return SQL for the code of the row's value in this column, one code for all its spellings."""
        if not self.other_codes:
            return f"g{self.index}"
        cases = " ".join(f"WHEN {other} THEN {code}" for other, code in self.other_codes.items())
        return f"CASE g{self.index} {cases} ELSE g{self.index} END"


@dataclass(frozen=True, slots=True)
class DataTable:
    """Requested columns of one file, loaded in order of its rows into the table `cells` of a database."""

    database: LockedDatabase
    columns: Mapping[str, DataColumn]
    rows: int
    groups: Mapping[str, GroupColumn] = field(default_factory=dict)
    """Columns by which the rows can be grouped; empty unless requested."""


def create_cells_table_sql(is_integer: list[bool], groups: int = 0) -> str:
    """Return SQL that creates the table `cells`, with a code for each of the `groups`.

    `is_integer`: for each column, true to store integers.
    """
    columns = [
        f"k{index} UTINYINT, n{index} {'HUGEINT' if each else 'DOUBLE'}, t{index} VARCHAR"
        for index, each in enumerate(is_integer)
    ]
    columns += [f"g{index} UTINYINT" for index in range(groups)]
    return f"CREATE TABLE cells ({', '.join(columns)})"
