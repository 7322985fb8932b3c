"""Selection of the values that a statistic needs: of one column (`x`), or of two (`x` and `y`)."""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

from collections.abc import Sequence
from dataclasses import dataclass

from aex_models.statistics import Filter
from aex_outcomes.science.mixed import GroupFilter
from aex_outcomes.science.statistics.conditions import (
    Condition,
    build_match_condition,
    build_undecidable_condition,
    is_numeric_filter,
)
from aex_outcomes.science.tables.cells import MISSING, NUMBER, TEXT, UNREADABLE, DataTable
from aex_outcomes.science.tables.database import LockedDatabase
from aex_outcomes.science.tables.file_checks import DataError, quote_name_for_message


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Column `name` of a database's table `table`: finite numbers, at least one, without missing cells."""

    database: LockedDatabase
    name: str
    is_integer: bool
    """True if the column holds integers of 128 bits instead of doubles."""
    count: int
    """Number of values."""
    least: float | int
    greatest: float | int
    table: str

    @property
    def max_abs(self) -> float:
        """Return the largest absolute value."""
        return float(max(abs(self.least), abs(self.greatest)))


def check_filters_and_compile_condition(table: DataTable, where: Sequence[Filter]) -> Condition:
    """Return an SQL condition for the rows that match all filters of `where`.

    Runs queries, and raises `DataError` if a cell makes a filter undecidable: a text where numbers are compared, or a
    list, object or bytes. A `GroupFilter` matches the codes of its group.
    """
    by_code = [each for each in where if isinstance(each, GroupFilter)]
    where = [each for each in where if not isinstance(each, GroupFilter)]
    for name in dict.fromkeys(each.column for each in where if is_numeric_filter(each)):
        _refuse_non_numbers(table, name, build_undecidable_condition(where, name, table.columns, as_numbers=True))
    for name in dict.fromkeys(each.column for each in where if not is_numeric_filter(each)):
        require_readable_cells(table, name, build_undecidable_condition(where, name, table.columns, as_numbers=False))
    rows = build_match_condition(where, table.columns)
    for each in by_code:
        group = table.groups[each.column]
        code = next((code for code, value in group.values.items() if value == each.value), None)
        rows = rows & Condition(f"{group.code_sql} = ?", (code,))
    return rows


def select_values_into_table(
    table: DataTable, names: Sequence[str], where: Sequence[Filter], target: str = "selection"
) -> list[ColumnValues]:
    """Copy the numbers of one or two columns into the table `target`, from rows in which each has one.

    Replaces an earlier table of that name. Raises `DataError` for a cell that is no finite number, and if there is no
    such row.
    """
    rows = check_filters_and_compile_condition(table, where)
    columns = [table.columns[name] for name in names]
    for name in dict.fromkeys(names):
        _refuse_non_numbers(table, name, rows)
    numbers = rows
    for column in columns:
        numbers = numbers & Condition(f"{column.kind_sql} = {NUMBER}")
    columns_sql = ", ".join(f"{column.number_sql} AS {axis}" for column, axis in zip(columns, "xy", strict=False))
    table.database.fetch_rows(f"DROP TABLE IF EXISTS {target}")
    table.database.fetch_rows(
        f"CREATE TABLE {target} AS SELECT {columns_sql} FROM cells WHERE {numbers.sql}", numbers.values
    )
    found = []
    for column, axis in zip(columns, "xy", strict=False):
        count, least, greatest = table.database.fetch_row(f"SELECT count(*), min({axis}), max({axis}) FROM {target}")
        if not count:
            raise DataError("no_rows", "no row with a value is left")
        found.append(ColumnValues(table.database, axis, column.is_integer, count, least, greatest, target))
    return found


def count_cells_by_kind(table: DataTable, column_name: str, row_condition: Condition) -> dict[int, int]:
    """Count the cells of a column in the selected rows, by kind (`MISSING`, `NUMBER`, …)."""
    kind = table.columns[column_name].kind_sql
    found = table.database.fetch_rows(
        f"SELECT {kind}, count(*) FROM cells WHERE {row_condition.sql} GROUP BY 1", row_condition.values
    )
    return dict(found)


def require_readable_cells(table: DataTable, column_name: str, row_condition: Condition) -> None:
    """Raise `DataError` if a cell of the column in the selected rows is a list, an object or bytes."""
    kind = table.columns[column_name].kind_sql
    sql = f"SELECT count(*), min(rowid) FROM cells WHERE ({row_condition.sql}) AND {kind} = {UNREADABLE}"
    count, first = table.database.fetch_row(sql, row_condition.values)
    if count:
        where = f"of the column {quote_name_for_message(column_name)}: {count}, the first in data row {first + 1}"
        message = f"cells {where}, are lists, objects or bytes; give numbers or texts"
        raise DataError("not_comparable", message, column=column_name)


def _refuse_non_numbers(table: DataTable, name: str, rows: Condition) -> None:
    """Raise `DataError` if a cell of the column in the selected rows is present and no finite number."""
    kind = table.columns[name].kind_sql
    is_text = f"{kind} IN ({TEXT}, {UNREADABLE})"
    sql = (
        f"SELECT {is_text}, count(*), min(rowid) FROM cells "
        f"WHERE ({rows.sql}) AND {kind} NOT IN ({MISSING}, {NUMBER}) GROUP BY 1 ORDER BY 1 DESC LIMIT 1"
    )
    for is_not_number, count, first in table.database.fetch_rows(sql, rows.values):
        where = f"of the column {quote_name_for_message(name)}: {count}, the first in data row {first + 1}"
        if is_not_number:
            message = f"cells {where}, are no numbers; a number is written like -1.5 or 2e-8"
            raise DataError("not_numeric", message, column=name)
        message = f"cells {where}, are NaN or infinite; leave out what is not known"
        raise DataError("not_finite", message, column=name)
