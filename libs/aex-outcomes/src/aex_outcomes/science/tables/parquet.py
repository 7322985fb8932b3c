"""Reading of Parquet files; their metadata are checked before their content is read."""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

from collections.abc import Sequence
from typing import NamedTuple

import duckdb

from aex_models.statistics import MISSING_WORDS
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.tables.cells import MISSING, NOT_FINITE, NUMBER, TEXT, UNREADABLE
from aex_outcomes.science.tables.database import LockedDatabase
from aex_outcomes.science.tables.file_checks import DataError
from aex_outcomes.science.tables.text_rows import check_column_names

INTEGER_TYPES = frozenset(
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"]
)
FLOAT_TYPES = frozenset({"FLOAT", "DOUBLE"})
_AS_TEXT = ("BOOLEAN", "DATE", "TIME", "UUID")
_READ = "read_parquet(?, hive_partitioning = false, union_by_name = false, filename = false)"


class ParquetSchema(NamedTuple):
    """Names and SQL types of the columns of a Parquet file, in the file's order."""

    names: tuple[str, ...]
    sql_types: tuple[str, ...]


def read_parquet_schema(database: LockedDatabase, path: str, limits: DataLimits) -> ParquetSchema:
    """Return the names and the SQL types of the columns.

    Raises `DataError` for an unreadable file, for invalid names of columns, and for too many rows or columns by its
    metadata.
    """
    try:
        (rows,) = database.fetch_row("SELECT num_rows FROM parquet_file_metadata(?)", [path])
        if rows > limits.max_rows:
            raise DataError("too_many_rows", f"{rows} rows, more than {limits.max_rows}: give fewer")
        names = _top_names(database, path)
        types = [each[1] for each in database.fetch_rows(f"DESCRIBE SELECT * FROM {_READ}", [path])]
    except duckdb.Error as error:
        raise build_unreadable_parquet_error(error) from None
    if not names or len(types) != len(names):
        raise DataError("not_parquet", "its columns cannot be determined: write it again")
    if len(names) > limits.max_columns:
        raise DataError("too_many_columns", f"{len(names)} columns, more than {limits.max_columns}: leave some out")
    check_column_names(names, limits)
    return ParquetSchema(names, tuple(types))


def _top_names(database: LockedDatabase, path: str) -> tuple[str, ...]:
    """Return the names of the top-level columns by the metadata: reading would rename duplicates."""
    listed = database.fetch_rows("SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)", [path])
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


def build_unreadable_parquet_error(error: duckdb.Error) -> DataError:
    """Return the error of a file that DuckDB cannot read, without its message, which may quote the file."""
    if "ncrypt" in str(error):
        return DataError("not_parquet", "it is encrypted: give it in the clear")
    return DataError("not_parquet", "it cannot be read as Parquet: write it again, or give CSV")


def insert_parquet_cells_sql(
    types: Sequence[str], indexes: Sequence[int], with_text: Sequence[bool], max_rows: int, groups: Sequence[str] = ()
) -> str:
    """Return SQL that copies columns of a Parquet file to the table `cells`, at most `max_rows` rows.

    `types`: SQL types of all columns of the file. `indexes`: the columns to copy. `with_text`: for each of these, true
    to store its texts beside its numbers. `groups`: SQL of texts to store as codes. Each of these takes a parameter,
    a list of texts: the code of a text is its position there. The file's path is the last parameter.
    """
    stored = [_stored_sql(f"c{index}", types[index], text) for index, text in zip(indexes, with_text, strict=True)]
    stored += [f"CAST(coalesce(list_position(?::VARCHAR[], {text}), 0) AS UTINYINT)" for text in groups]
    return f"INSERT INTO cells SELECT {', '.join(stored)} FROM {parquet_rows_sql(len(types))} LIMIT {max_rows}"


def parquet_rows_sql(columns: int) -> str:
    """Return SQL for the rows of the file, whose path is a parameter, with columns c0, c1 and so on."""
    return f"(SELECT * FROM {_READ}) AS file({', '.join(f'c{index}' for index in range(columns))})"


def is_text_type(sql_type: str) -> bool:
    """Return True for a type whose cells are stored as texts."""
    return sql_type.startswith(("VARCHAR", "ENUM", *_AS_TEXT)) and not sql_type.endswith("]")


def _stored_sql(cell: str, kind: str, with_text: bool) -> str:
    """Return SQL for the kind, the number and the text of a cell whose column has the SQL type `kind`.

    Nested and binary values have neither number nor text.
    """
    missing = f"WHEN {cell} IS NULL THEN {MISSING}"
    if kind.endswith("]"):  # a list, also of DECIMAL(9,2)[] and ENUM(...)[]
        return f"CASE {missing} ELSE {UNREADABLE} END, NULL, NULL"
    text = f"CAST({cell} AS VARCHAR)" if with_text else "NULL"
    if kind in INTEGER_TYPES or kind.startswith("DECIMAL"):
        stored_type = "HUGEINT" if kind in INTEGER_TYPES else "DOUBLE"
        return f"CASE {missing} ELSE {NUMBER} END, CAST({cell} AS {stored_type}), {text}"
    if kind in FLOAT_TYPES:
        finite = f"isfinite({cell})"
        kinds = f"CASE {missing} WHEN {finite} THEN {NUMBER} ELSE {NOT_FINITE} END"
        return f"{kinds}, CASE WHEN {finite} THEN CAST({cell} AS DOUBLE) END, {text}"
    if kind == "VARCHAR" or kind.startswith("ENUM"):
        plain = f"trim(CAST({cell} AS VARCHAR), ' ' || chr(9))"
        text = f"CASE WHEN {plain} NOT IN {MISSING_WORDS} THEN {plain} END" if with_text else "NULL"
        return f"CASE {missing} WHEN {plain} IN {MISSING_WORDS} THEN {MISSING} ELSE {TEXT} END, NULL, {text}"
    if kind.startswith(_AS_TEXT):
        return f"CASE {missing} ELSE {TEXT} END, NULL, {text}"
    return f"CASE {missing} ELSE {UNREADABLE} END, NULL, NULL"
