import math
import time
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.science.statistics.distributions import compute_student_p_value, mannwhitney_lower_tail

_DIGITS = 330
"""Enough for 1 − A, where A is 1 to 300 digits."""


def exact_p(t: float, even_degrees: int) -> float:
    """Sum the finite series for an even number of degrees (Abramowitz & Stegun 26.7.4)."""
    with localcontext(prec=_DIGITS):
        square = Decimal(t) ** 2
        cosine = even_degrees / (even_degrees + square)
        term = total = Decimal(1)
        for k in range(1, even_degrees // 2):
            term *= cosine * (2 * k - 1) / (2 * k)
            total += term
        return float(1 - (square / (even_degrees + square)).sqrt() * total)


@pytest.mark.parametrize("degrees", [2, 4, 10, 38, 40, 42, 500, 20_000])
@pytest.mark.parametrize("t", [1e-8, 0.01, 0.9, 1.2, 1.5, 1.8, 2.5, 7.0, 20.0, 36.9])
def test_p_values_equal_the_exact_series_down_to_the_far_tail(t: float, degrees: int) -> None:
    expected = exact_p(t, degrees)
    assert expected > 1e-300
    assert (
        compute_student_p_value(t, degrees)
        == compute_student_p_value(-t, degrees)
        == pytest.approx(expected, rel=1e-11, abs=0)
    )


@pytest.mark.parametrize(("t", "degrees"), [(1e30, 10), (1e150, 2), (1e16, 18), (2e6, 50), (95.0, 400)])
def test_p_values_as_small_as_1e_300_keep_nine_digits(t: float, degrees: int) -> None:
    expected = exact_p(t, degrees)
    assert 0 < expected < 1e-100
    assert compute_student_p_value(t, degrees) == pytest.approx(expected, rel=1e-9, abs=0)


def test_p_values_of_one_degree_are_those_of_cauchy() -> None:
    for t in (1e-300, 1e-9, 0.5, 1.0, 3.0, 1e9, 1e200, 1e300):
        assert compute_student_p_value(t, 1) == pytest.approx(2 / math.pi * math.atan(1 / t), rel=1e-12, abs=0)


@pytest.mark.parametrize("t", [1.3, 6.0, 37.0])
def test_p_values_of_many_degrees_keep_nine_digits(t: float) -> None:
    expected = exact_p(t, 100_000)
    assert compute_student_p_value(t, 100_000) == pytest.approx(expected, rel=1e-10, abs=0)
    assert compute_student_p_value(t, 100_000.5) == pytest.approx(expected, rel=1e-2, abs=0)


def test_p_values_at_the_ends_are_one_and_zero() -> None:
    assert compute_student_p_value(0.0, 5) == 1
    assert compute_student_p_value(1e-200, 5) == pytest.approx(1)
    assert compute_student_p_value(60.0, 1e6) == 0  # below the smallest double


@given(st.floats(0, 40), st.floats(1, 3_000))
def test_p_values_of_fractional_degrees_equal_scipys(t: float, degrees: float) -> None:
    assert compute_student_p_value(t, degrees) == pytest.approx(2 * scipy.stats.t.sf(t, degrees), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("small", "large"), [(1, 1), (1, 6), (2, 2), (2, 7), (3, 5), (4, 4), (5, 6)])
def test_tails_count_every_arrangement(small: int, large: int) -> None:
    ranks = combinations(range(small + large), small)
    found = Counter(sum(chosen) - small * (small - 1) // 2 for chosen in ranks)
    total = math.comb(small + large, small)
    for u in range(small * large + 1):
        assert mannwhitney_lower_tail(u, small, large) == Fraction(sum(found[each] for each in range(u + 1)), total)


@given(st.integers(1, 8), st.integers(0, 40), st.floats(0, 1))
def test_tails_equal_scipys(small: int, more: int, share: float) -> None:
    large = small + more
    u = round(share * small * large / 2)
    first = values_above(u, small, large)
    expected = scipy.stats.mannwhitneyu(first, range(large), alternative="less", method="exact")
    assert expected.statistic == u
    assert float(mannwhitney_lower_tail(u, small, large)) == pytest.approx(expected.pvalue, rel=1e-9)


def values_above(u: int, small: int, large: int) -> list[float]:
    """Return different values that are larger than 0 … `large` − 1 in `u` pairs."""
    smaller = [min(large, max(0, u - index * large)) for index in range(small)]
    return [count - 0.5 + index / 100 for index, count in enumerate(smaller)]


def test_tails_of_a_small_group_beside_millions_take_no_time() -> None:
    small, large = 8, 5_000_000
    started = time.process_time()
    half = mannwhitney_lower_tail(small * large // 2, small, large)
    quantile = mannwhitney_lower_tail(round(small * large * 0.3), small, large)
    assert time.process_time() - started < 2
    assert float(half) == pytest.approx(0.5, abs=1e-6)
    z = 0.2 * small * large / math.sqrt(small * large * (small + large + 1) / 12)
    assert float(quantile) == pytest.approx(math.erfc(z / math.sqrt(2)) / 2, rel=0.1)
    assert mannwhitney_lower_tail(-1, small, large) == 0
    assert mannwhitney_lower_tail(small * large, small, large) == 1
