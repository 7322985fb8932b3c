"""Assignment with the greatest sum, compared with scipy and with all assignments of few rows."""

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from aex_outcomes.kernels.assignment import assign_rows

Weights = list[list[int]]


@st.composite
def matrices(draw: st.DrawFn, longest: int) -> tuple[Weights, int]:
    """Weights with many ties, and the number of columns."""
    rows, columns = draw(st.integers(0, longest)), draw(st.integers(0, longest))
    row = st.lists(st.integers(0, draw(st.sampled_from([0, 1, 2, 200]))), min_size=columns, max_size=columns)
    return draw(st.lists(row, min_size=rows, max_size=rows)), columns


def total(weights: Weights, assigned: Sequence[int | None]) -> int:
    return sum(weights[row][column] for row, column in enumerate(assigned) if column is not None)


@given(matrices(25))
def test_sum_equals_that_of_scipy_and_the_shorter_side_is_assigned(drawn: tuple[Weights, int]) -> None:
    weights, columns = drawn
    assigned = assign_rows(weights, columns)
    array = np.array(weights, dtype=int).reshape(len(weights), columns)
    assert total(weights, assigned) == array[linear_sum_assignment(array, maximize=True)].sum()
    taken = [column for column in assigned if column is not None]
    assert len(taken) == len(set(taken)) == min(len(weights), columns)


@given(matrices(4))
def test_earliest_of_the_best_assignments_is_returned(drawn: tuple[Weights, int]) -> None:
    weights, columns = drawn
    unassigned: list[int | None] = [None] * max(0, len(weights) - columns)
    every = itertools.permutations([*range(columns), *unassigned], len(weights))

    def order(assigned: Any) -> tuple[int, list[int]]:
        return -total(weights, assigned), [columns if each is None else each for each in assigned]

    assert assign_rows(weights, columns) == list(min(every, key=order))


@pytest.mark.parametrize(
    ("weights", "columns", "expected"),
    [
        ([], 0, []),
        ([[], []], 0, [None, None]),
        ([[0, 0], [0, 0], [0, 0]], 2, [0, 1, None]),
        ([[1, 1], [1, 0]], 2, [1, 0]),
        ([[1, 1, 1], [1, 1, 1]], 3, [0, 1]),
        ([[0], [3]], 1, [None, 0]),
    ],
)
def test_small_assignments(weights: Weights, columns: int, expected: list[int | None]) -> None:
    assert assign_rows(weights, columns) == expected


def test_many_ties_among_300_rows_equal_scipy() -> None:
    source = random.Random(3)
    weights = [[source.randrange(4) for _ in range(300)] for _ in range(300)]
    array = np.array(weights)
    assert total(weights, assign_rows(weights, 300)) == array[linear_sum_assignment(array, maximize=True)].sum()
