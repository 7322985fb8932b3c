"""Distributions of test statistics under the null hypothesis: Student's t and Mann–Whitney U.

Student: P(|T| ≥ t) = I_x(df/2, ½) with x = df/(df + t²), by the continued fraction of DLMF 8.17.22.

Mann–Whitney without ties, for a small group of m values and one of any size n: arrangements with U ≤ u are counted
exactly. Their number is the coefficient of q^u in ∏(1 − q^(n+i)) / ((1 − q) ∏(1 − q^i)), i from 1 to m. The numerator
has 2^m terms. The denominator divides (1 − q^L)^(m+1), where L is the least common multiple of 1 to m. So each term has
at most m + 1 binomials.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations, count

_TINY = 1e-300
"""Replacement of a zero denominator in Lentz's method."""
_CONVERGED = 4e-16
_ASYMPTOTIC = 20
"""From here on the series below has the precision of a double; the difference of two lgamma would lose digits."""
_HALF_STEP_SERIES = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432)
"""Coefficients of a⁻¹, a⁻³, … in ln Γ(a + ½) − ln Γ(a) − ½ ln a."""


def compute_student_p_value(t: float, degrees_of_freedom: float) -> float:
    """Return the two-sided p-value P(|T| ≥ |t|) of Student's t; 0 if it is below the smallest double."""
    ratio = abs(t) / math.sqrt(degrees_of_freedom)
    square = ratio * ratio  # infinite for a ratio above 1e154
    if not square:
        return 1.0
    a, x, y = degrees_of_freedom / 2, 1 / (1 + square), 1 / (1 + 1 / square)
    log_total = math.log1p(square) if square < math.inf else 2 * math.log(ratio)
    log_front = _log_half_step(a) - math.log(math.pi) / 2 - a * log_total - math.log1p(1 / square) / 2
    if x < (a + 1) / (a + 2.5):
        return math.exp(log_front) / (a * _beta_fraction(a, 0.5, x))
    return max(0.0, 1 - math.exp(log_front) / (0.5 * _beta_fraction(0.5, a, y)))  # above 0.08: loses no digits


def _log_half_step(a: float) -> float:
    """Return ln Γ(a + ½) − ln Γ(a)."""
    if a < _ASYMPTOTIC:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return math.log(a) / 2 + sum(each * a ** (-2 * index - 1) for index, each in enumerate(_HALF_STEP_SERIES))


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction F with I_x(a, b) = x^a (1 − x)^b / (a B(a, b) F).

    It converges fast for x below (a + 1)/(a + b + 2).
    """
    c = value = 1 - (a + b) * x / (a + 1) or _TINY
    d = 1.0
    for m in count(1):
        change = 1.0
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d or _TINY)
            c = 1 + term / c or _TINY
            change = c * d
            value *= change
        if abs(change - 1) < _CONVERGED:
            return value
    raise AssertionError  # pragma: no cover


def mannwhitney_lower_tail(u: int, smaller_size: int, larger_size: int) -> Fraction:
    """Return the probability that Mann–Whitney's U is at most `u`, for groups of two sizes without ties.

    Takes 2^`smaller_size` steps.
    """
    total = 0
    for size in range(smaller_size + 1):
        for chosen in combinations(range(1, smaller_size + 1), size):
            left = u - sum(larger_size + each for each in chosen)
            total += (-1) ** size * _partitions_up_to(left, smaller_size)
    return Fraction(total, math.comb(smaller_size + larger_size, smaller_size))


def _partitions_up_to(limit: int, parts: int) -> int:
    """Return in how many ways integers from 0 to `limit` are sums of parts from 1 to `parts`."""
    step, numerator = math.lcm(*range(1, parts + 1)), _numerator(parts)
    offsets = range(limit % step, min(limit + 1, len(numerator)), step)
    return sum(numerator[each] * math.comb((limit - each) // step + parts, parts) for each in offsets)


@cache
def _numerator(parts: int) -> tuple[int, ...]:
    """Return the coefficients of (1 − q^L)^(m+1) / ((1 − q) ∏(1 − q^i)), where m is `parts`."""
    step = math.lcm(*range(1, parts + 1))
    found = [1]
    for part in (1, *range(1, parts + 1)):  # times (1 − q^L), over (1 − q^part)
        product = [*found, *([0] * (step - part))]
        for index, each in enumerate(found[: len(product) - step]):
            product[index + step] -= each
        for index in range(part, len(product)):
            product[index] += product[index - part]
        found = product
    return tuple(found)
