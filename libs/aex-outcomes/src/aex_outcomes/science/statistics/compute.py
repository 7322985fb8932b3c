# ruff: noqa: S608 SQL is put together from words of this package; names and values are parameters
"""Computation of one statistic of a table by its specification."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from aex_models.statistics import OF_TWO_COLUMNS, OF_TWO_GROUPS, Statistic, StatisticSpec
from aex_outcomes.science.reconcile import (
    RoundingScale,
    compute_bivariate_rounding_scale,
    compute_rounding_scale,
    p_value_rounding_scale,
)
from aex_outcomes.science.statistics import moments
from aex_outcomes.science.statistics.column_values import (
    ColumnValues,
    check_filters_and_compile_condition,
    count_cells_by_kind,
    require_readable_cells,
    select_values_into_table,
)
from aex_outcomes.science.statistics.hypothesis_tests import (
    compute_welch_p_value,
    count_benjamini_hochberg_discoveries,
    largest_benjamini_hochberg_error,
    mannwhitney_test,
    select_groups_into_tables,
    welch_test,
)
from aex_outcomes.science.statistics.moments import exact_mean, exact_sum, to_finite_double
from aex_outcomes.science.tables.cells import MISSING, NOT_FINITE, TEXT, DataTable
from aex_outcomes.science.tables.file_checks import DataError, quote_name_for_message


@dataclass(frozen=True, slots=True)
class ComputedStatistic:
    """Finite value of a statistic, and the rounding limits for comparing claims with it."""

    value: float
    scale: RoundingScale


_ONE_COLUMN: dict[Statistic, Callable[[ColumnValues, float], float]] = {
    Statistic.MEAN: lambda x, _: to_finite_double(exact_mean(x)),
    Statistic.SUM: lambda x, _: to_finite_double(exact_sum(x)),
    Statistic.STD: lambda x, _: moments.sample_standard_deviation(x),
    Statistic.VAR: lambda x, _: moments.sample_variance(x),
    Statistic.MIN: lambda x, _: float(x.least),
    Statistic.MAX: lambda x, _: float(x.greatest),
    Statistic.MEDIAN: lambda x, _: moments.quantile(x, 0.5),
    Statistic.QUANTILE: moments.quantile,
}
_TWO_COLUMNS: dict[Statistic, Callable[[ColumnValues, ColumnValues], float]] = {
    Statistic.PEARSON: moments.pearson_correlation,
    Statistic.R_SQUARED: lambda x, y: moments.pearson_correlation(x, y) ** 2,
    Statistic.SPEARMAN: lambda x, y: moments.pearson_correlation(*moments.rank_columns_into_table(x, y)),
    Statistic.SLOPE: moments.regression_slope,
    Statistic.BH_MAX_ERROR: largest_benjamini_hochberg_error,
}


def compute_statistic(table: DataTable, spec: StatisticSpec) -> ComputedStatistic:
    """Compute the statistic of the rows that its filters select. Raises `DataError` if it has no value."""
    if spec.stat in OF_TWO_GROUPS:
        return _compare_groups(spec.stat, *select_groups_into_tables(table, spec))
    if spec.stat in OF_TWO_COLUMNS:
        x, y = select_values_into_table(table, spec.columns, spec.where)
        value = _TWO_COLUMNS[spec.stat](x, y)
        is_slope = spec.stat is Statistic.SLOPE
        unit = (
            moments.largest_deviation_from_mean(y) / moments.largest_deviation_from_mean(x) if is_slope else Fraction(1)
        )
        return ComputedStatistic(value, compute_bivariate_rounding_scale(unit))
    if spec.stat in {Statistic.COUNT, Statistic.N_UNIQUE}:
        return ComputedStatistic(float(_count(table, spec)), RoundingScale())
    (x,) = select_values_into_table(table, [spec.column or ""], spec.where)
    if spec.alpha is not None:
        return ComputedStatistic(float(count_benjamini_hochberg_discoveries(x, spec.alpha)), RoundingScale())
    value = _ONE_COLUMN[spec.stat](x, spec.q if spec.q is not None else 0.5)
    return ComputedStatistic(value, compute_rounding_scale(spec.stat, x.max_abs, x.count))


def _compare_groups(stat: Statistic, first: ColumnValues, second: ColumnValues) -> ComputedStatistic:
    if stat in {Statistic.MANNWHITNEY_U, Statistic.MANNWHITNEY_P}:
        ranks = mannwhitney_test(first, second)
        if stat is Statistic.MANNWHITNEY_U:
            return ComputedStatistic(ranks.doubled_u / 2, RoundingScale())
        return ComputedStatistic(ranks.two_sided_p(), p_value_rounding_scale())
    if stat is Statistic.WELCH_P:
        return ComputedStatistic(compute_welch_p_value(first, second), p_value_rounding_scale())
    welch = welch_test(first, second)
    largest = Fraction(max(first.max_abs, second.max_abs))
    return ComputedStatistic(welch.t, compute_bivariate_rounding_scale(largest / welch.standard_error))


def _count(table: DataTable, spec: StatisticSpec) -> int:
    """Count rows, or the present cells of a column, or for `n_unique` its different values.

    Different values are compared as numbers, or as texts if the column has any text. In a column of numbers `nan` is
    refused; in a column of texts it is a word.
    """
    rows, name = check_filters_and_compile_condition(table, spec.where), spec.column
    counted = "*"
    if name is not None:
        if spec.stat is Statistic.N_UNIQUE:
            require_readable_cells(table, name, rows)
        kinds = count_cells_by_kind(table, name, rows)
        if NOT_FINITE in kinds and TEXT not in kinds:
            message = f"cells of the column {quote_name_for_message(name)}: {kinds[NOT_FINITE]}, are NaN or infinite"
            raise DataError("not_finite", f"{message}; leave out what is not known", column=name)
        if spec.stat is Statistic.COUNT:
            return sum(count for kind, count in kinds.items() if kind != MISSING)
        counted = f"DISTINCT {table.columns[name].text_sql if TEXT in kinds else table.columns[name].number_sql}"
    return int(table.database.fetch_row(f"SELECT count({counted}) FROM cells WHERE {rows.sql}", rows.values)[0])
