"""Comparison of query results: multisets of rows, floats within a tolerance."""

import math
from collections import Counter
from datetime import datetime, time
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.sql_results import match_results

TOL = 1e-9
DAY = datetime.fromisoformat("2024-01-31")
CELLS = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["", "a", "1"]), st.binary(max_size=1))
ROWS = st.lists(st.tuples(CELLS, CELLS), max_size=5)


def match(actual: list[Any], expected: list[Any], *, ordered: bool = False) -> bool:
    return match_results(actual, expected, ordered=ordered, float_tol=TOL)


def test_order_counts_only_where_it_is_demanded() -> None:
    assert match([[1], [2]], [[2], [1]])
    assert not match([[1], [2]], [[2], [1]], ordered=True)
    assert match([[1], [2]], [[1], [2]], ordered=True)


def test_repeated_rows_count() -> None:
    assert not match([[1], [1], [2]], [[1], [2], [2]])
    assert match([[1], [2], [1]], [[2], [1], [1]])


@given(ROWS, ROWS, st.randoms())
def test_rows_without_floats_are_compared_as_multisets(own: list[Any], other: list[Any], random: Any) -> None:
    def key(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple((type(cell), cell) for cell in row)

    assert match(own, other) is (Counter(map(key, own)) == Counter(map(key, other)))
    shuffled = random.sample(own, len(own))
    assert match(own, shuffled)
    assert match(own, shuffled, ordered=True) is (list(map(key, own)) == list(map(key, shuffled)))


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), max_size=6), st.randoms())
def test_small_differences_of_floats_do_not_matter(rows: list[Any], random: Any) -> None:
    near = [(key, left * (1 + random.uniform(-TOL, TOL) / 3), right + TOL / 3) for key, left, right in rows]
    assert match(random.sample(near, len(near)), rows)


def test_a_tiny_difference_in_one_column_does_not_swap_rows_that_differ_in_the_next() -> None:
    expected = [[1.0, 5.0], [1.0, 3.0], [2.0, 1.0]]
    for rows in permutations([[1.0, 5.0], [1.0 + 1e-12, 3.0], [2.0, 1.0]]):
        assert match(list(rows), expected)
        assert match(expected, list(rows))


@pytest.mark.parametrize(
    ("own", "other", "is_match"),
    [
        (1.0, 1.0 + 1e-10, True),
        (1.0, 1.0 + 1e-8, False),
        (0.0, 1e-10, True),
        (-0.0, 0.0, True),
        (1e12, 1e12 + 1, True),
        (math.nan, math.nan, True),
        (math.nan, 0.0, False),
        (math.inf, math.inf, True),
        (math.inf, -math.inf, False),
        (math.inf, 1.0, False),
        (3, 3.0, True),
        (3, Decimal("3.00"), True),
        (10**12, 10**12 + 1, False),
        (Decimal("0.1"), 0.1, True),
        (2**200, 2.0**200, True),
        (10**400, 1.5, False),
        (True, 1, False),
        (True, True, True),
        ("a", b"a", False),
        (None, None, True),
        (None, 0, False),
        (None, "", False),
        (DAY, DAY, True),
        (time(10), time(11), False),
        ([1, 2], [2, 1], False),
        ([1.0, None], [1.0 + 1e-12, None], True),
        ([1.0], [1.0, 2.0], False),
        ({"a": 1, "b": [True]}, {"b": [True], "a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, [1], False),
    ],
)
def test_cells_are_compared_by_kind(own: Any, other: Any, is_match: bool) -> None:
    for ordered in (False, True):
        assert match([[own]], [[other]], ordered=ordered) is is_match
        assert match([[other]], [[own]], ordered=ordered) is is_match


def test_results_of_another_width_or_length_do_not_match() -> None:
    assert not match([[1, 2]], [[1]])
    assert not match([[1]], [])
    assert match([], [])
