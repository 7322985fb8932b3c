"""Variance, correlation and slope, by sums of products of deviations from the exact mean.

Two passes: deviations from the (correctly rounded) mean, scaled by a power of two so that no square overflows or
vanishes; their compensated sums; and a correction for what rounding the mean left over (Chan, Golub & LeVeque 1983).
"""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

import math
from dataclasses import dataclass
from fractions import Fraction

from aex_outcomes.science.statistics.picked import Values
from aex_outcomes.science.statistics.sums import as_double, exact_mean, too_large
from aex_outcomes.science.tables.errors import DataError

_MOST = 1000
"""The largest exponent to scale by: 2^1000 is a double, 2^1074 would not be one."""


@dataclass(frozen=True, slots=True)
class _Deviations:
    """SQL of the deviations, divided by 2^exponent."""

    sql: str
    values: tuple[float | int, ...]
    exponent: int


def variance(values: Values) -> float:
    """Of a sample (n − 1). Raises `DataError` for fewer than two values."""
    scaled, exponent = _scaled_variance(values)
    return _unscaled(scaled, 2 * exponent)


def deviation(values: Values) -> float:
    """The standard deviation of a sample."""
    scaled, exponent = _scaled_variance(values)
    return _unscaled(math.sqrt(scaled), exponent)


def correlation(x: Values, y: Values) -> float:
    """Pearson's r. Raises `DataError` for a constant column and for fewer than two rows."""
    _two_rows(x)
    for each in (x, y):
        if each.least == each.greatest:
            raise DataError("undefined", "a column is constant, and has no correlation with anything")
    xx, yy, xy = _products(x, _deviations(x), _deviations(y))
    return max(-1.0, min(1.0, xy / math.sqrt(xx * yy)))


def slope(x: Values, y: Values) -> float:
    """Of the least-squares line of y over x. Raises `DataError` for a constant x and for fewer than two rows."""
    _two_rows(x)
    if x.least == x.greatest:
        raise DataError("undefined", "the first column is constant: there is no slope over it")
    of_x, of_y = _deviations(x), _deviations(y)
    xx, _, xy = _products(x, of_x, of_y)
    return _unscaled(xy / xx, of_y.exponent - of_x.exponent)


def furthest(values: Values) -> Fraction:
    """The largest |x - mean|, exactly."""
    mean = exact_mean(values)
    return max(Fraction(values.greatest) - mean, mean - Fraction(values.least))


def _two_rows(values: Values) -> None:
    if values.count < 2:
        raise DataError("undefined", "fewer than two values are left")


def _scaled_variance(values: Values) -> tuple[float, int]:
    _two_rows(values)
    if values.least == values.greatest:
        return 0.0, 0
    each = _deviations(values)
    sql = f"SELECT fsum(d), fsum(d * d) FROM (SELECT {each.sql} AS d FROM {values.table})"
    total, squares = values.database.row(sql, each.values)
    return max(0.0, squares - total * total / values.count) / (values.count - 1), each.exponent


def _products(x: Values, of_x: _Deviations, of_y: _Deviations) -> tuple[float, float, float]:
    """Σdx², Σdy² and Σdxdy, each scaled; `x`: for its table, which is y's too."""
    sql = (
        "SELECT fsum(dx), fsum(dy), fsum(dx * dx), fsum(dy * dy), fsum(dx * dy) "
        f"FROM (SELECT {of_x.sql} AS dx, {of_y.sql} AS dy FROM {x.table})"
    )
    sx, sy, xx, yy, xy = x.database.row(sql, (*of_x.values, *of_y.values))
    n = x.count
    return xx - sx * sx / n, yy - sy * sy / n, xy - sx * sy / n


def _deviations(values: Values) -> _Deviations:
    name, mean = values.name, exact_mean(values)
    if values.whole:  # as integers: a double would round what lies above 2^53
        anchor = round(mean)
        exponent = int(max(abs(values.least - anchor), abs(values.greatest - anchor))).bit_length()
        scale = math.ldexp(1.0, -exponent)
        return _Deviations(f"(CAST({name} - ?::HUGEINT AS DOUBLE) * ?::DOUBLE)", (anchor, scale), exponent)
    centre = as_double(mean)
    exponent = max(-_MOST, min(_MOST, math.frexp(values.largest)[1]))
    scale = math.ldexp(1.0, -exponent)
    return _Deviations(f"({name} * ?::DOUBLE - ?::DOUBLE)", (scale, centre * scale), exponent)


def _unscaled(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        raise too_large() from None
