# ruff: noqa: S608 SQL is put together from words of this package; names and values are parameters
"""Two-sided tests of two independent groups of one column, and adjustment of p-values for many tests.

The results are those of scipy 1.17: `ttest_ind(equal_var=False)` for Welch's t-test, `mannwhitneyu(method="auto")`, and
`false_discovery_control` for Benjamini and Hochberg (1995).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from aex_models.statistics import StatisticSpec
from aex_outcomes.science.statistics.column_values import ColumnValues, select_values_into_table
from aex_outcomes.science.statistics.distributions import compute_student_p_value, mannwhitney_lower_tail
from aex_outcomes.science.statistics.moments import exact_mean, scaled_variance, to_finite_double
from aex_outcomes.science.tables.cells import DataTable
from aex_outcomes.science.tables.file_checks import DataError

_LARGEST_EXACT = 8
"""Values of a group up to which the exact distribution is taken, where no values are equal."""


def select_groups_into_tables(table: DataTable, spec: StatisticSpec) -> tuple[ColumnValues, ColumnValues]:
    """Copy the numbers of a test's two groups into tables `group_1` and `group_2`, replacing earlier ones.

    Raises `DataError`, whose message says which group it is about.
    """
    found = []
    for number, group in enumerate(spec.groups, 1):
        try:
            found += select_values_into_table(table, [spec.column or ""], (*spec.where, *group), f"group_{number}")
        except DataError as error:
            message = f"group {number} of the test: {error.message}"
            raise DataError(error.code, message, column=error.column) from None
    return found[0], found[1]


@dataclass(frozen=True, slots=True)
class WelchTest:
    """Difference of two means in standard errors."""

    t: float
    degrees_of_freedom: float
    standard_error: Fraction
    """Standard error of the difference, in the unit of the values."""


def welch_test(first: ColumnValues, second: ColumnValues) -> WelchTest:
    """Compute Welch's t-test. Raises `DataError` for a group of one value and for two constant groups."""
    groups = (first, second)
    spread = [(variance / each.count, exponent) for each in groups for variance, exponent in [scaled_variance(each)]]
    top = max((exponent for variance, exponent in spread if variance), default=None)
    if top is None:
        raise DataError("undefined", "both groups are constant: their difference has no standard error")
    shares = [math.ldexp(variance, 2 * (exponent - top)) if variance else 0.0 for variance, exponent in spread]
    total = math.fsum(shares)
    by_degrees = sum((each / total) ** 2 / (group.count - 1) for each, group in zip(shares, groups, strict=True))
    standard_error = Fraction(math.sqrt(total)) * Fraction(2) ** top
    difference = exact_mean(first) - exact_mean(second)
    return WelchTest(to_finite_double(difference / standard_error), 1 / by_degrees, standard_error)


def compute_welch_p_value(first: ColumnValues, second: ColumnValues) -> float:
    """Return the p-value of Welch's t-test; 0 for two constant groups with different values, as in scipy.

    Raises `DataError` for a group of one value and for equal constant groups.
    """
    are_constant = all(each.count > 1 and each.least == each.greatest for each in (first, second))
    if are_constant and first.least != second.least:
        return 0.0
    found = welch_test(first, second)
    return compute_student_p_value(found.t, found.degrees_of_freedom)


@dataclass(frozen=True, slots=True)
class MannWhitneyTest:
    """Comparison of every value of the first group with every one of the second."""

    counts: tuple[int, int]
    doubled_u: int
    """Pairs in which the first group's value is larger, twice, and pairs of equal values."""
    tie_term: int
    """Σ(t³ − t) over the numbers t of equal values; 0 without ties."""

    def two_sided_p(self) -> float:
        """Return the p-value; 1 where all values are equal, as in scipy."""
        first, second = self.counts
        pairs, total = first * second, first + second
        if not self.tie_term and min(self.counts) <= _LARGEST_EXACT:
            smaller_u = min(self.doubled_u, 2 * pairs - self.doubled_u) // 2
            return to_finite_double(
                min(Fraction(1), 2 * mannwhitney_lower_tail(smaller_u, min(self.counts), max(self.counts)))
            )
        unequal = total + 1 - Fraction(self.tie_term, total * (total - 1))
        if not unequal:
            return 1.0
        deviation = Fraction(abs(self.doubled_u - pairs) - 1, 2)  # with a correction for continuity of one half
        z = float(deviation) / math.sqrt(pairs * unequal / 12)
        return min(1.0, math.erfc(z / math.sqrt(2)))


def mannwhitney_test(first: ColumnValues, second: ColumnValues) -> MannWhitneyTest:
    """Compute the Mann–Whitney test of two groups from the ranks of all their values."""
    counted = " UNION ALL ".join(
        f"SELECT {each.name} AS v, {int(each is first)} AS of_first, {int(each is second)} AS of_second "
        f"FROM {each.table}"
        for each in (first, second)
    )
    values = f"SELECT v, sum(of_first) AS a, sum(of_second) AS b FROM ({counted}) GROUP BY v"
    smaller = "coalesce(sum(b) OVER (ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)"
    ranked = f"SELECT a, b, CAST(a + b AS HUGEINT) AS t, {smaller} AS smaller FROM ({values})"
    doubled_u, tie_term = first.database.fetch_row(
        f"SELECT sum(a * (2 * smaller + b)), sum(t * t * t - t) FROM ({ranked})"
    )
    return MannWhitneyTest((first.count, second.count), int(doubled_u), int(tie_term))


def count_benjamini_hochberg_discoveries(p_values: ColumnValues, alpha: float) -> int:
    """Return how many p-values are at most `alpha` after adjustment by Benjamini and Hochberg.

    Raises `DataError` for p-values outside [0, 1].
    """
    _check_p_values(p_values)
    sql = f"SELECT coalesce(max(i), 0) FROM ({_ranked_sql(p_values)}) WHERE scaled <= ?::DOUBLE"
    return int(p_values.database.fetch_row(sql, (alpha,))[0])


def largest_benjamini_hochberg_error(p_values: ColumnValues, claimed: ColumnValues) -> float:
    """Return the largest difference of a claimed adjusted p-value from the one computed from `p_values`.

    Both columns are in one table, whose rows have both. Raises `DataError` for p-values outside [0, 1].
    """
    _check_p_values(p_values)
    least = "min(scaled) OVER (ORDER BY i DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    adjusted = f"SELECT y, least(1.0::DOUBLE, {least}) AS adjusted FROM ({_ranked_sql(p_values)})"
    sql = f"SELECT max(abs(CAST({claimed.name} AS DOUBLE) - adjusted)) FROM ({adjusted})"
    return float(claimed.database.fetch_row(sql)[0])


def _ranked_sql(p_values: ColumnValues) -> str:
    """Return SQL for the table's rows with their rank `i` by p-value, and `scaled`, which is p·(n/i).

    The adjusted p-value of a row is the least `scaled` of its own and all larger ranks, and at most 1.
    """
    name = p_values.name
    ranked = f"SELECT *, row_number() OVER (ORDER BY {name}) AS i FROM {p_values.table}"
    return f"SELECT *, CAST({name} AS DOUBLE) * ({p_values.count}::DOUBLE / i) AS scaled FROM ({ranked})"


def _check_p_values(p_values: ColumnValues) -> None:
    if p_values.least < 0 or p_values.greatest > 1:
        raise DataError("not_p_values", "the column has values outside [0, 1], which are no p-values")
