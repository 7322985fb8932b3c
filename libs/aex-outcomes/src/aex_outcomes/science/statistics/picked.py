"""The values that a statistic is computed of: of one column `x`, of two `x` and `y`, in a table of their own."""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

from collections.abc import Sequence
from dataclasses import dataclass

from aex_models.statistics import Filter
from aex_outcomes.science.statistics.conditions import Condition, kept, reads_numbers, undecided, unreadable
from aex_outcomes.science.tables.cells import MISSING, NUMBER, TEXT, UNREADABLE
from aex_outcomes.science.tables.database import Database
from aex_outcomes.science.tables.errors import DataError, quoted
from aex_outcomes.science.tables.table import Table


@dataclass(frozen=True, slots=True)
class Values:
    """A column `name` of the table `picked`: finite numbers, at least one."""

    database: Database
    name: str
    whole: bool
    count: int
    least: float | int
    greatest: float | int
    table: str = "picked"

    @property
    def largest(self) -> float:
        """max|x|."""
        return float(max(abs(self.least), abs(self.greatest)))


def checked(table: Table, where: Sequence[Filter]) -> Condition:
    """The rows that the filters keep. Raises `DataError` where cells keep that from being told."""
    for name in dict.fromkeys(each.column for each in where if reads_numbers(each)):
        _refuse(table, name, undecided(where, name, table.columns))
    for name in dict.fromkeys(each.column for each in where if not reads_numbers(each)):
        refuse_unreadable(table, name, unreadable(where, name, table.columns))
    return kept(where, table.columns)


def picked(table: Table, names: Sequence[str], where: Sequence[Filter]) -> list[Values]:
    """The values of one column or of two, from rows in which each has one. Raises `DataError`."""
    rows = checked(table, where)
    columns = [table.columns[name] for name in names]
    for name in dict.fromkeys(names):
        _refuse(table, name, rows)
    numbers = rows
    for column in columns:
        numbers = numbers & Condition(f"{column.kind} = {NUMBER}")
    chosen = ", ".join(f"{column.number} AS {axis}" for column, axis in zip(columns, "xy", strict=False))
    table.database.rows("DROP TABLE IF EXISTS picked")
    table.database.rows(f"CREATE TABLE picked AS SELECT {chosen} FROM cells WHERE {numbers.sql}", numbers.values)
    return [_summed_up(table.database, axis, column.whole) for column, axis in zip(columns, "xy", strict=False)]


def count_by_kind(table: Table, name: str, rows: Condition) -> dict[int, int]:
    """How many of the cells of a column are of which kind."""
    kind = table.columns[name].kind
    found = table.database.rows(f"SELECT {kind}, count(*) FROM cells WHERE {rows.sql} GROUP BY 1", rows.values)
    return dict(found)


def refuse_unreadable(table: Table, name: str, rows: Condition) -> None:
    """Raises `DataError` where one of these rows has something in the column that has no text either."""
    kind = table.columns[name].kind
    sql = f"SELECT count(*), min(rowid) FROM cells WHERE ({rows.sql}) AND {kind} = {UNREADABLE}"
    count, first = table.database.row(sql, rows.values)
    if count:
        where = f"of the column {quoted(name)}: {count}, the first in data row {first + 1}"
        message = f"cells {where}, are lists, objects or bytes; give numbers or texts"
        raise DataError("not_comparable", message)


def _refuse(table: Table, name: str, rows: Condition) -> None:
    """Raises `DataError` where one of these rows has something in the column that is no finite number."""
    kind = table.columns[name].kind
    is_text = f"{kind} IN ({TEXT}, {UNREADABLE})"
    sql = (
        f"SELECT {is_text}, count(*), min(rowid) FROM cells "
        f"WHERE ({rows.sql}) AND {kind} NOT IN ({MISSING}, {NUMBER}) GROUP BY 1 ORDER BY 1 DESC LIMIT 1"
    )
    for no_number, count, first in table.database.rows(sql, rows.values):
        where = f"of the column {quoted(name)}: {count}, the first in data row {first + 1}"
        if no_number:
            raise DataError("not_numeric", f"cells {where}, are no numbers; a number is written like -1.5 or 2e-8")
        raise DataError("not_finite", f"cells {where}, are NaN or infinite; leave out what is not known")


def _summed_up(database: Database, axis: str, whole: bool) -> Values:
    count, least, greatest = database.row(f"SELECT count(*), min({axis}), max({axis}) FROM picked")
    if not count:
        raise DataError("no_rows", "no row with a value is left")
    return Values(database, axis, whole, count, least, greatest)
