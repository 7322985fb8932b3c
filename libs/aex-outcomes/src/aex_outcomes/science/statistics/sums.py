"""Sums without rounding, and means that are the double nearest to the true one.

Doubles are sorted into classes of eight binary orders of magnitude; within one, each is a whole multiple of the same
power of two, below 2^63 of it. The database sums those as integers of 128 bits, which loses nothing, and Python adds up
the few classes as a fraction. Sums in doubles, compensated ones too, lose all of 1e16 + 1 − 1e16.
"""

# ruff: noqa: S608 SQL is put together from this package's own words; names and values go as parameters

from fractions import Fraction

from aex_outcomes.science.statistics.picked import Values
from aex_outcomes.science.tables.errors import DataError

_CLASS_BITS, _KEPT_BITS = 8, 54
"""54: a double has 53 bits, and the logarithm may be a class too high for what lies just below one."""


def exact_sum(values: Values) -> Fraction:
    """Σx, exactly."""
    name, table = values.name, values.table
    if values.whole:
        return Fraction(int(values.database.row(f"SELECT sum({name}) FROM {table}")[0]))
    half = _KEPT_BITS // 2
    power = f"pow(2.0::DOUBLE, {half} - {_CLASS_BITS // 2} * class)"  # twice: the whole of it may be above 2^1023
    found = values.database.rows(
        f"SELECT class, sum(CAST({name} * {power} * {power} AS BIGINT)) FROM (SELECT {name}, "
        f"CAST(floor(log2(abs({name})) / {_CLASS_BITS}) AS INTEGER) AS class FROM {table} WHERE {name} <> 0) GROUP BY 1"
    )
    return sum(
        (Fraction(int(total)) * Fraction(2) ** (_CLASS_BITS * each - _KEPT_BITS) for each, total in found), Fraction()
    )


def exact_mean(values: Values) -> Fraction:
    """Σx / n."""
    return exact_sum(values) / values.count


def as_double(value: Fraction) -> float:
    """The nearest double. Raises `DataError` where there is none."""
    try:
        return float(value)
    except OverflowError:
        raise too_large() from None


def too_large() -> DataError:
    """The error of a result that no double holds."""
    return DataError("undefined", "the result is too large for a double")
