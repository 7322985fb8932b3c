"""Columns with few values in a Parquet file, by which its rows can be grouped."""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aex_models.statistics import MISSING_WORDS
from aex_outcomes.science.tables.cells import GroupColumn
from aex_outcomes.science.tables.database import LockedDatabase
from aex_outcomes.science.tables.file_checks import DataError
from aex_outcomes.science.tables.group_codes import (
    MAX_CANDIDATES,
    MAX_LENGTH,
    MAX_VALUES,
    build_group_column,
    parse_integers_by_code,
)
from aex_outcomes.science.tables.parquet import FLOAT_TYPES, INTEGER_TYPES, is_text_type, parquet_rows_sql

_NUMBERS = INTEGER_TYPES | FLOAT_TYPES
"""Types whose cells are integers. Writers store integers as floats where some are missing."""

_SAMPLE_ROWS = 20_000
_MAX_CELLS = 50_000_000
"""Maximum of cells that are read to find all values: takes about two seconds."""


@dataclass(frozen=True, slots=True)
class ParquetGroups:
    """Column by which rows can be grouped, with its different values as texts."""

    index: int
    """Index of the column in the file."""
    texts: tuple[str, ...]
    is_number: bool

    @property
    def values_by_code(self) -> Mapping[int, int | str]:
        """Return the present values by code; a code is the position of its text, from 1."""
        coded = dict(enumerate(self.texts, start=1))
        if self.is_number:
            return parse_integers_by_code(coded)
        return {code: text for code, text in coded.items() if text not in MISSING_WORDS}

    def as_group_column(self, index: int) -> GroupColumn:
        """Return the column of groups whose codes stand in column `index` of the table."""
        return build_group_column(index, self.values_by_code)


def find_group_columns(database: LockedDatabase, path: str, types: Sequence[str]) -> list[ParquetGroups]:
    """Find the columns of integers or texts with few different values; none if memory does not suffice.

    Raises `DataError` if no time is left.
    """
    try:
        return list(_find_groups(database, path, types))
    except DataError as error:
        if error.code != "out_of_memory":
            raise
        return []


def group_text_sql(index: int, types: Sequence[str]) -> str:
    """Return SQL for the trimmed text of a column's cell, cut to one character over `MAX_LENGTH`."""
    text = f"CAST(c{index} AS VARCHAR)"
    return text if types[index] in _NUMBERS else f"left(trim({text}, ' ' || chr(9)), {MAX_LENGTH + 1})"


def _find_groups(database: LockedDatabase, path: str, types: Sequence[str]) -> Iterator[ParquetGroups]:
    suited = [index for index, each in enumerate(types) if each in _NUMBERS or is_text_type(each)]
    texts = {index: group_text_sql(index, types) for index in suited[:MAX_CANDIDATES]}
    if not texts:
        return
    counts = ", ".join(f"count(DISTINCT t{index})" for index in texts)
    listed = ", ".join(f"{text} AS t{index}" for index, text in texts.items())
    file = parquet_rows_sql(len(types))
    sampled = database.fetch_row(f"SELECT {counts} FROM (SELECT {listed} FROM {file} LIMIT {_SAMPLE_ROWS})", [path])
    few = [index for index, count in zip(texts, sampled, strict=True) if count <= MAX_VALUES]
    (rows,) = database.fetch_row("SELECT num_rows FROM parquet_file_metadata(?)", [path])
    for index in few[: max(1, _MAX_CELLS // max(1, rows))]:
        distinct = database.fetch_rows(f"SELECT DISTINCT {texts[index]} FROM {file} LIMIT {MAX_VALUES + 2}", [path])
        found = sorted(text for (text,) in distinct if text is not None)
        if found and len(found) <= MAX_VALUES and max(map(len, found)) <= MAX_LENGTH:
            group = ParquetGroups(index, tuple(found), types[index] in _NUMBERS)
            if group.values_by_code:
                yield group
