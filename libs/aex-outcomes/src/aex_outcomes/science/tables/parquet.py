"""Parquet: what its own description says first, and only then what is in it."""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

from collections.abc import Sequence

import duckdb

from aex_models.statistics import MISSING_WORDS
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.tables.cells import MISSING, NOT_FINITE, NUMBER, TEXT, UNREADABLE
from aex_outcomes.science.tables.database import Database
from aex_outcomes.science.tables.delimited import check_names
from aex_outcomes.science.tables.errors import DataError

_WHOLE = frozenset(
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"]
)
_BROKEN = frozenset({"FLOAT", "DOUBLE"})
_WORDED = ("BOOLEAN", "DATE", "TIME", "UUID")
_READ = "read_parquet(?, hive_partitioning = false, union_by_name = false, filename = false)"


def described(database: Database, path: str, limits: DataLimits) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns' names and types. Raises `DataError`, also where it says that it unfolds to too many rows."""
    try:
        (rows,) = database.row("SELECT num_rows FROM parquet_file_metadata(?)", [path])
        if rows > limits.max_rows:
            raise DataError("too_many_rows", f"{rows} rows, more than {limits.max_rows}: give fewer")
        names = _top_names(database, path)
        types = [each[1] for each in database.rows(f"DESCRIBE SELECT * FROM {_READ}", [path])]
    except duckdb.Error as error:
        raise unreadable(error) from None
    if not names or len(types) != len(names):
        raise DataError("not_parquet", "its columns cannot be told: write it again")
    if len(names) > limits.max_columns:
        raise DataError("too_many_columns", f"{len(names)} columns, more than {limits.max_columns}: leave some out")
    check_names(names, limits)
    return names, tuple(types)


def _top_names(database: Database, path: str) -> tuple[str, ...]:
    """The names as the file has them: reading renames those that are there twice."""
    listed = database.rows("SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)", [path])
    names: list[str] = []
    inside = [1]
    for name, children in listed:
        while inside and inside[-1] == 0:
            inside.pop()
        if len(inside) == 2:
            names.append(name)
        if inside:
            inside[-1] -= 1
        inside.append(children)
    return tuple(names)


def unreadable(error: duckdb.Error) -> DataError:
    """The error of a file that the library could not read; its own words may quote the file."""
    if "ncrypt" in str(error):
        return DataError("not_parquet", "it is encrypted: give it in the clear")
    return DataError("not_parquet", "it cannot be read as Parquet: write it again, or give CSV")


def is_whole(kind: str) -> bool:
    """Whether a column of this type holds integers."""
    return kind in _WHOLE


def filling(kinds: Sequence[str], wanted: Sequence[int], with_text: Sequence[bool], most: int) -> str:
    """SQL: put these columns (places in the file) into `cells`; at most `most` rows."""
    names = ", ".join(f"c{place}" for place in range(len(kinds)))
    chosen = ", ".join(_stored(f"c{place}", kinds[place], text) for place, text in zip(wanted, with_text, strict=True))
    return f"INSERT INTO cells SELECT {chosen} FROM (SELECT * FROM {_READ}) AS file({names}) LIMIT {most}"


def _stored(cell: str, kind: str, with_text: bool) -> str:
    """Kind, number and text of a column. What is nested or binary is neither number nor text."""
    missing = f"WHEN {cell} IS NULL THEN {MISSING}"
    if kind.endswith("]"):  # a list, also of DECIMAL(9,2)[] and ENUM(...)[]
        return f"CASE {missing} ELSE {UNREADABLE} END, NULL, NULL"
    if is_whole(kind) or kind.startswith("DECIMAL"):
        held = "HUGEINT" if is_whole(kind) else "DOUBLE"
        text = f"CAST({cell} AS VARCHAR)" if with_text else "NULL"
        return f"CASE {missing} ELSE {NUMBER} END, CAST({cell} AS {held}), {text}"
    if kind in _BROKEN:
        finite = f"isfinite({cell})"
        text = f"CAST({cell} AS VARCHAR)" if with_text else "NULL"
        kinds = f"CASE {missing} WHEN {finite} THEN {NUMBER} ELSE {NOT_FINITE} END"
        return f"{kinds}, CASE WHEN {finite} THEN CAST({cell} AS DOUBLE) END, {text}"
    if kind == "VARCHAR" or kind.startswith("ENUM"):
        plain = f"trim(CAST({cell} AS VARCHAR), ' ' || chr(9))"
        text = f"CASE WHEN {plain} NOT IN {MISSING_WORDS} THEN {plain} END" if with_text else "NULL"
        return f"CASE {missing} WHEN {plain} IN {MISSING_WORDS} THEN {MISSING} ELSE {TEXT} END, NULL, {text}"
    if kind.startswith(_WORDED):
        return f"CASE {missing} ELSE {TEXT} END, NULL, {f'CAST({cell} AS VARCHAR)' if with_text else 'NULL'}"
    return f"CASE {missing} ELSE {UNREADABLE} END, NULL, NULL"
