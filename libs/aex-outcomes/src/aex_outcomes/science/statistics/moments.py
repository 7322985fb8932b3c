# ruff: noqa: S608 SQL is put together from words of this package; names and values are parameters
"""Exact sums and means, and accurate variance, correlation, slope, quantiles and ranks of columns.

Sums: doubles are grouped by exponent, eight binary orders of magnitude to a class. Within a class each double is an
integer multiple of one power of two. The database sums these integers in 128 bits, and Python adds the classes as
fractions, so that nothing is rounded. Sums in doubles, even compensated ones, lose the 1 of 1e16 + 1 − 1e16.

Variance, correlation and slope take two passes: the mean, then compensated sums of products of deviations from it.
Deviations are scaled by a power of two, so that no square overflows or vanishes. A correction removes the rounding
error of the mean (Chan, Golub & LeVeque 1983).
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from aex_outcomes.science.statistics.column_values import ColumnValues
from aex_outcomes.science.tables.file_checks import DataError

_CLASS_BITS, _KEPT_BITS = 8, 54
"""54 instead of a double's 53 bits, because rounding of the logarithm may choose the next higher class."""


def exact_sum(values: ColumnValues) -> Fraction:
    """Return the sum of the values, without any rounding."""
    name, table = values.name, values.table
    if values.is_integer:
        return Fraction(int(values.database.fetch_row(f"SELECT sum({name}) FROM {table}")[0]))
    half = _KEPT_BITS // 2
    power = f"pow(2.0::DOUBLE, {half} - {_CLASS_BITS // 2} * class)"  # applied twice: at once it may exceed 2^1023
    found = values.database.fetch_rows(
        f"SELECT class, sum(CAST({name} * {power} * {power} AS BIGINT)) FROM (SELECT {name}, "
        f"CAST(floor(log2(abs({name})) / {_CLASS_BITS}) AS INTEGER) AS class FROM {table} WHERE {name} <> 0) GROUP BY 1"
    )
    return sum(
        (Fraction(int(total)) * Fraction(2) ** (_CLASS_BITS * each - _KEPT_BITS) for each, total in found), Fraction()
    )


def exact_mean(values: ColumnValues) -> Fraction:
    return exact_sum(values) / values.count


def to_finite_double(value: Fraction) -> float:
    """Return the double nearest to the fraction. Raises `DataError` on overflow."""
    try:
        return float(value)
    except OverflowError:
        raise _too_large() from None


def _too_large() -> DataError:
    return DataError("undefined", "the result is too large for a double")


_MAX_EXPONENT = 1000
"""Largest exponent of a scale factor: 2^1000 is a double, and 2^1074 is not."""


_Deviations = tuple[str, tuple[float | int, ...], int]
"""SQL for the deviations from the mean, divided by 2^exponent; the SQL's parameters; the exponent."""


def sample_variance(values: ColumnValues) -> float:
    """Return the variance with the divisor n − 1. Raises `DataError` for fewer than two values."""
    scaled, exponent = scaled_variance(values)
    return _unscale(scaled, 2 * exponent)


def sample_standard_deviation(values: ColumnValues) -> float:
    """Return the standard deviation with the divisor n − 1. Raises `DataError` for fewer than two values."""
    scaled, exponent = scaled_variance(values)
    return _unscale(math.sqrt(scaled), exponent)


def pearson_correlation(x: ColumnValues, y: ColumnValues) -> float:
    """Return Pearson's r. Raises `DataError` for a constant column and for fewer than two rows."""
    _require_two_rows(x)
    for each in (x, y):
        if each.least == each.greatest:
            raise DataError("undefined", "a column is constant, and has no correlation with anything")
    xx, yy, xy = _products(x, _deviations(x), _deviations(y))
    return max(-1.0, min(1.0, xy / math.sqrt(xx * yy)))


def regression_slope(x: ColumnValues, y: ColumnValues) -> float:
    """Return the slope of the least-squares line of y over x.

    Raises `DataError` for a constant x and for fewer than two rows.
    """
    _require_two_rows(x)
    if x.least == x.greatest:
        raise DataError("undefined", "the first column is constant: there is no slope over it")
    x_deviations, y_deviations = _deviations(x), _deviations(y)
    xx, _, xy = _products(x, x_deviations, y_deviations)
    return _unscale(xy / xx, y_deviations[2] - x_deviations[2])


def largest_deviation_from_mean(values: ColumnValues) -> Fraction:
    """Return the largest distance of a value from the mean, without rounding."""
    mean = exact_mean(values)
    return max(Fraction(values.greatest) - mean, mean - Fraction(values.least))


def _require_two_rows(values: ColumnValues) -> None:
    if values.count < 2:
        raise DataError("undefined", "fewer than two values are left")


class ScaledVariance(NamedTuple):
    """Variance of a sample as `scaled` · 2^(2·`exponent`), so that it neither overflows nor vanishes."""

    scaled: float
    exponent: int


def scaled_variance(values: ColumnValues) -> ScaledVariance:
    """Return the variance of a sample with the divisor n − 1, and the exponent of its scale.

    Raises `DataError` for fewer than two values.
    """
    _require_two_rows(values)
    if values.least == values.greatest:
        return ScaledVariance(0.0, 0)
    deviation, parameters, exponent = _deviations(values)
    sql = f"SELECT fsum(d), fsum(d * d) FROM (SELECT {deviation} AS d FROM {values.table})"
    total, squares = values.database.fetch_row(sql, parameters)
    return ScaledVariance(max(0.0, squares - total * total / values.count) / (values.count - 1), exponent)


def _products(x: ColumnValues, x_deviations: _Deviations, y_deviations: _Deviations) -> tuple[float, float, float]:
    """Return the sums of dx², dy² and dx·dy of the scaled deviations; both columns are in `x`'s table."""
    (dx, x_parameters, _), (dy, y_parameters, _) = x_deviations, y_deviations
    sql = (
        "SELECT fsum(dx), fsum(dy), fsum(dx * dx), fsum(dy * dy), fsum(dx * dy) "
        f"FROM (SELECT {dx} AS dx, {dy} AS dy FROM {x.table})"
    )
    sx, sy, xx, yy, xy = x.database.fetch_row(sql, (*x_parameters, *y_parameters))
    n = x.count
    return xx - sx * sx / n, yy - sy * sy / n, xy - sx * sy / n


def _deviations(values: ColumnValues) -> _Deviations:
    name, mean = values.name, exact_mean(values)
    if values.is_integer:  # as integers: a double would round what lies above 2^53
        anchor = round(mean)
        exponent = int(max(abs(values.least - anchor), abs(values.greatest - anchor))).bit_length()
        scale = math.ldexp(1.0, -exponent)
        return f"(CAST({name} - ?::HUGEINT AS DOUBLE) * ?::DOUBLE)", (anchor, scale), exponent
    centre = to_finite_double(mean)
    exponent = max(-_MAX_EXPONENT, min(_MAX_EXPONENT, math.frexp(values.max_abs)[1]))
    scale = math.ldexp(1.0, -exponent)
    return f"({name} * ?::DOUBLE - ?::DOUBLE)", (scale, centre * scale), exponent


def _unscale(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        raise _too_large() from None


def quantile(values: ColumnValues, q: float) -> float:
    """Return the q-quantile (q from 0 to 1), interpolated linearly as by numpy's default method.

    It is number 7 of Hyndman & Fan 1996. Raises `DataError` on overflow.
    """
    position = (values.count - 1) * q
    below = math.floor(position)
    sql = f"SELECT {values.name} FROM {values.table} ORDER BY 1 LIMIT 2 OFFSET {below}"
    found = [Fraction(each) for (each,) in values.database.fetch_rows(sql)]
    return to_finite_double(found[0] + (found[-1] - found[0]) * Fraction(position - below))


def rank_columns_into_table(x: ColumnValues, y: ColumnValues) -> tuple[ColumnValues, ColumnValues]:
    """Return the ranks of two columns, counted from 1; equal values get the average of their ranks.

    Both columns are in the table of `x`. Creates or replaces the table `ranked`.
    """
    x.database.fetch_rows("DROP TABLE IF EXISTS ranked")
    x.database.fetch_rows(f"CREATE TABLE ranked AS SELECT {_rank_sql('x')} AS x, {_rank_sql('y')} AS y FROM {x.table}")
    found = []
    for each in (x, y):
        least, greatest = x.database.fetch_row(f"SELECT min({each.name}), max({each.name}) FROM ranked")
        found.append(replace(each, is_integer=False, least=least, greatest=greatest, table="ranked"))
    return found[0], found[1]


def _rank_sql(name: str) -> str:
    count = f"count(*) OVER (PARTITION BY {name})"
    return f"(CAST(rank() OVER (ORDER BY {name}) AS DOUBLE) + ({count} - 1) / 2.0::DOUBLE)"
