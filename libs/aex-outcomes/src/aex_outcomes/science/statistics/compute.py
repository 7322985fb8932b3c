"""A statistic by its specification."""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

from collections.abc import Callable
from dataclasses import dataclass

from aex_models.statistics import OF_TWO_COLUMNS, Statistic, StatisticSpec
from aex_outcomes.science.statistics import moments, order
from aex_outcomes.science.statistics.conditions import Condition
from aex_outcomes.science.statistics.picked import Values, checked, count_by_kind, picked, refuse_unreadable
from aex_outcomes.science.statistics.scale import Scale, of_one_column, of_two_columns
from aex_outcomes.science.statistics.sums import as_double, exact_mean, exact_sum
from aex_outcomes.science.tables.cells import MISSING, NOT_FINITE, TEXT
from aex_outcomes.science.tables.errors import DataError, quoted
from aex_outcomes.science.tables.table import Table


@dataclass(frozen=True, slots=True)
class Computed:
    """A finite value, and what the values that it comes of make of a claim that is nearly the same."""

    value: float
    scale: Scale


_OF_ONE: dict[Statistic, Callable[[Values, float], float]] = {
    Statistic.MEAN: lambda x, _: as_double(exact_mean(x)),
    Statistic.SUM: lambda x, _: as_double(exact_sum(x)),
    Statistic.STD: lambda x, _: moments.deviation(x),
    Statistic.VAR: lambda x, _: moments.variance(x),
    Statistic.MIN: lambda x, _: float(x.least),
    Statistic.MAX: lambda x, _: float(x.greatest),
    Statistic.MEDIAN: lambda x, _: order.quantile(x, 0.5),
    Statistic.QUANTILE: order.quantile,
}
_OF_TWO: dict[Statistic, Callable[[Values, Values], float]] = {
    Statistic.PEARSON: moments.correlation,
    Statistic.R_SQUARED: lambda x, y: moments.correlation(x, y) ** 2,
    Statistic.SPEARMAN: lambda x, y: moments.correlation(*order.ranked(x, y)),
    Statistic.SLOPE: moments.slope,
}


def computed(table: Table, spec: StatisticSpec) -> Computed:
    """The statistic of the rows that the filters keep. Raises `DataError`, never returns what is not finite."""
    if spec.stat in OF_TWO_COLUMNS:
        x, y = picked(table, spec.columns, spec.where)
        value = _OF_TWO[spec.stat](x, y)
        ratio = moments.furthest(y) / moments.furthest(x) if spec.stat is Statistic.SLOPE else None
        return Computed(value, of_two_columns(ratio))
    if spec.stat is Statistic.COUNT:
        return Computed(float(_count(table, spec)), Scale())
    column = spec.column or ""
    if spec.stat is Statistic.N_UNIQUE:
        return Computed(float(_distinct(table, column, spec)), Scale())
    (x,) = picked(table, [column], spec.where)
    value = _OF_ONE[spec.stat](x, spec.q if spec.q is not None else 0.5)
    return Computed(value, of_one_column(spec.stat, x.largest, x.count))


def _count(table: Table, spec: StatisticSpec) -> int:
    rows = checked(table, spec.where)
    if spec.column is None:
        return int(table.database.row(f"SELECT count(*) FROM cells WHERE {rows.sql}", rows.values)[0])
    kinds = _kinds(table, spec.column, rows)
    return sum(count for kind, count in kinds.items() if kind != MISSING)


def _distinct(table: Table, name: str, spec: StatisticSpec) -> int:
    """Different numbers; where any value of the column is a text, different texts."""
    rows = checked(table, spec.where)
    refuse_unreadable(table, name, rows)
    column = table.columns[name]
    cell = column.text if TEXT in _kinds(table, name, rows) else column.number
    return int(table.database.row(f"SELECT count(DISTINCT {cell}) FROM cells WHERE {rows.sql}", rows.values)[0])


def _kinds(table: Table, name: str, rows: Condition) -> dict[int, int]:
    """Among texts `nan` is a word; in a column of numbers it is a value that is not there."""
    kinds = count_by_kind(table, name, rows)
    if NOT_FINITE in kinds and TEXT not in kinds:
        message = f"cells of the column {quoted(name)}: {kinds[NOT_FINITE]}, are NaN or infinite"
        raise DataError("not_finite", f"{message}; leave out what is not known")
    return kinds
