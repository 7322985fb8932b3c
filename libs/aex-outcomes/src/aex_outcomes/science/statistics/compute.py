# ruff: noqa: S608 SQL is put together from words of this package; names and values are parameters
"""Computation of a statistic by its specification."""

from collections.abc import Callable
from dataclasses import dataclass

from aex_models.statistics import OF_TWO_COLUMNS, Statistic, StatisticSpec
from aex_outcomes.science.reconcile import RoundingScale, column_scale, pair_scale
from aex_outcomes.science.statistics import moments
from aex_outcomes.science.statistics.column_values import (
    ColumnValues,
    count_by_kind,
    refuse_unreadable,
    row_condition,
    select_values,
)
from aex_outcomes.science.statistics.moments import as_double, exact_mean, exact_sum
from aex_outcomes.science.tables.cells import MISSING, NOT_FINITE, TEXT, DataTable
from aex_outcomes.science.tables.file_checks import DataError, quote_name


@dataclass(frozen=True, slots=True)
class ComputedStatistic:
    """A finite value, and the scale for comparing claims with it."""

    value: float
    scale: RoundingScale


_ONE_COLUMN: dict[Statistic, Callable[[ColumnValues, float], float]] = {
    Statistic.MEAN: lambda x, _: as_double(exact_mean(x)),
    Statistic.SUM: lambda x, _: as_double(exact_sum(x)),
    Statistic.STD: lambda x, _: moments.standard_deviation(x),
    Statistic.VAR: lambda x, _: moments.variance(x),
    Statistic.MIN: lambda x, _: float(x.least),
    Statistic.MAX: lambda x, _: float(x.greatest),
    Statistic.MEDIAN: lambda x, _: moments.quantile(x, 0.5),
    Statistic.QUANTILE: moments.quantile,
}
_TWO_COLUMNS: dict[Statistic, Callable[[ColumnValues, ColumnValues], float]] = {
    Statistic.PEARSON: moments.correlation,
    Statistic.R_SQUARED: lambda x, y: moments.correlation(x, y) ** 2,
    Statistic.SPEARMAN: lambda x, y: moments.correlation(*moments.rank_columns(x, y)),
    Statistic.SLOPE: moments.slope,
}


def compute_statistic(table: DataTable, spec: StatisticSpec) -> ComputedStatistic:
    """Compute the statistic of the selected rows. Raises `DataError` where there is no finite value."""
    if spec.stat in OF_TWO_COLUMNS:
        x, y = select_values(table, spec.columns, spec.where)
        value = _TWO_COLUMNS[spec.stat](x, y)
        ratio = moments.largest_deviation(y) / moments.largest_deviation(x) if spec.stat is Statistic.SLOPE else None
        return ComputedStatistic(value, pair_scale(ratio))
    if spec.stat in {Statistic.COUNT, Statistic.N_UNIQUE}:
        return ComputedStatistic(float(_count(table, spec)), RoundingScale())
    (x,) = select_values(table, [spec.column or ""], spec.where)
    value = _ONE_COLUMN[spec.stat](x, spec.q if spec.q is not None else 0.5)
    return ComputedStatistic(value, column_scale(spec.stat, x.largest, x.count))


def _count(table: DataTable, spec: StatisticSpec) -> int:
    """Return the number of rows, of cells, or of different numbers, of different texts if there is any.

    In a column of numbers `nan` is refused, among texts it is a word.
    """
    rows, name = row_condition(table, spec.where), spec.column
    counted = "*"
    if name is not None:
        if spec.stat is Statistic.N_UNIQUE:
            refuse_unreadable(table, name, rows)
        kinds = count_by_kind(table, name, rows)
        if NOT_FINITE in kinds and TEXT not in kinds:
            message = f"cells of the column {quote_name(name)}: {kinds[NOT_FINITE]}, are NaN or infinite"
            raise DataError("not_finite", f"{message}; leave out what is not known")
        if spec.stat is Statistic.COUNT:
            return sum(count for kind, count in kinds.items() if kind != MISSING)
        counted = f"DISTINCT {table.columns[name].text if TEXT in kinds else table.columns[name].number}"
    return int(table.database.row(f"SELECT count({counted}) FROM cells WHERE {rows.sql}", rows.values)[0])
