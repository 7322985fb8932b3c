"""Values of one column `x` or of two, `x` and `y`, selected into a table for a statistic."""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

from collections.abc import Sequence
from dataclasses import dataclass

from aex_models.statistics import Filter
from aex_outcomes.science.statistics.conditions import Condition, matching_rows, reads_numbers, undecided_rows
from aex_outcomes.science.tables.cells import MISSING, NUMBER, TEXT, UNREADABLE, DataTable
from aex_outcomes.science.tables.database import LockedDatabase
from aex_outcomes.science.tables.file_checks import DataError, quote_name


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """A column `name` of the table `table`: finite numbers, at least one."""

    database: LockedDatabase
    name: str
    is_integer: bool
    count: int
    least: float | int
    greatest: float | int
    table: str = "selection"

    @property
    def largest(self) -> float:
        """Return max|x|."""
        return float(max(abs(self.least), abs(self.greatest)))


def row_condition(table: DataTable, where: Sequence[Filter]) -> Condition:
    """Return the rows that match the filters. Raises `DataError` for cells that make a filter undecidable."""
    for name in dict.fromkeys(each.column for each in where if reads_numbers(each)):
        _refuse_non_numbers(table, name, undecided_rows(where, name, table.columns, numbers=True))
    for name in dict.fromkeys(each.column for each in where if not reads_numbers(each)):
        refuse_unreadable(table, name, undecided_rows(where, name, table.columns, numbers=False))
    return matching_rows(where, table.columns)


def select_values(table: DataTable, names: Sequence[str], where: Sequence[Filter]) -> list[ColumnValues]:
    """Select the values of one or two columns from rows in which each has one. Raises `DataError`."""
    rows = row_condition(table, where)
    columns = [table.columns[name] for name in names]
    for name in dict.fromkeys(names):
        _refuse_non_numbers(table, name, rows)
    numbers = rows
    for column in columns:
        numbers = numbers & Condition(f"{column.kind} = {NUMBER}")
    columns_sql = ", ".join(f"{column.number} AS {axis}" for column, axis in zip(columns, "xy", strict=False))
    table.database.rows("DROP TABLE IF EXISTS selection")
    table.database.rows(
        f"CREATE TABLE selection AS SELECT {columns_sql} FROM cells WHERE {numbers.sql}", numbers.values
    )
    found = []
    for column, axis in zip(columns, "xy", strict=False):
        count, least, greatest = table.database.row(f"SELECT count(*), min({axis}), max({axis}) FROM selection")
        if not count:
            raise DataError("no_rows", "no row with a value is left")
        found.append(ColumnValues(table.database, axis, column.is_integer, count, least, greatest))
    return found


def count_by_kind(table: DataTable, name: str, rows: Condition) -> dict[int, int]:
    kind = table.columns[name].kind
    found = table.database.rows(f"SELECT {kind}, count(*) FROM cells WHERE {rows.sql} GROUP BY 1", rows.values)
    return dict(found)


def refuse_unreadable(table: DataTable, name: str, rows: Condition) -> None:
    """Raise `DataError` where one of these rows has a cell of the column without a text."""
    kind = table.columns[name].kind
    sql = f"SELECT count(*), min(rowid) FROM cells WHERE ({rows.sql}) AND {kind} = {UNREADABLE}"
    count, first = table.database.row(sql, rows.values)
    if count:
        where = f"of the column {quote_name(name)}: {count}, the first in data row {first + 1}"
        message = f"cells {where}, are lists, objects or bytes; give numbers or texts"
        raise DataError("not_comparable", message)


def _refuse_non_numbers(table: DataTable, name: str, rows: Condition) -> None:
    """Raise `DataError` where one of these rows has a cell of the column that is no finite number."""
    kind = table.columns[name].kind
    is_text = f"{kind} IN ({TEXT}, {UNREADABLE})"
    sql = (
        f"SELECT {is_text}, count(*), min(rowid) FROM cells "
        f"WHERE ({rows.sql}) AND {kind} NOT IN ({MISSING}, {NUMBER}) GROUP BY 1 ORDER BY 1 DESC LIMIT 1"
    )
    for is_not_number, count, first in table.database.rows(sql, rows.values):
        where = f"of the column {quote_name(name)}: {count}, the first in data row {first + 1}"
        if is_not_number:
            raise DataError("not_numeric", f"cells {where}, are no numbers; a number is written like -1.5 or 2e-8")
        raise DataError("not_finite", f"cells {where}, are NaN or infinite; leave out what is not known")
