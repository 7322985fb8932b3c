import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from aex_outcomes.kernels.regression import NumberPairs, UndefinedScore

LARGEST = 1.7e308
SMALLEST = 5e-324
numbers = st.floats(-1e6, 1e6)


def test_errors_and_determination_of_a_known_example() -> None:
    pairs = NumberPairs([1.0, 3.0], [2.0, 3.0])
    assert pairs.mean_absolute_error() == 0.5
    assert pairs.root_mean_squared_error() == pytest.approx(math.sqrt(0.5))
    assert pairs.mean_absolute_percentage_error() == 0.5
    assert pairs.coefficient_of_determination() == 0.5
    assert pairs.spearman_correlation() == 1


@pytest.mark.parametrize(
    ("targets", "predictions", "expected"),
    [([5.0], [5.0], 1), ([5.0], [6.0], 0), ([0.1] * 3, [0.1] * 3, 1), ([0.1] * 3, [0.1, 0.1, 0.2], 0)],
)
def test_determination_of_constant_targets_is_1_if_exact_else_0(
    targets: list[float], predictions: list[float], expected: float
) -> None:
    assert NumberPairs(targets, predictions).coefficient_of_determination() == expected


def test_error_of_a_tiny_target_is_divided_by_the_epsilon_of_a_double() -> None:
    assert NumberPairs([1e-30], [1.0]).mean_absolute_percentage_error() == pytest.approx(2.0**52)


@pytest.mark.parametrize(("targets", "predictions"), [([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [0.0, -0.0])])
def test_rank_correlation_of_constant_numbers_is_undefined(targets: list[float], predictions: list[float]) -> None:
    with pytest.raises(UndefinedScore, match="constant"):
        NumberPairs(targets, predictions).spearman_correlation()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_rank_correlation_with_many_ties_equals_scipy(rows: list[tuple[int, int]]) -> None:
    x, y = ([float(each) for each in column] for column in zip(*rows, strict=True))
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert NumberPairs(x, y).spearman_correlation() == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)


@given(st.lists(numbers, min_size=2, max_size=50, unique=True))
def test_exact_predictions_have_no_error_and_are_perfectly_correlated(targets: list[float]) -> None:
    pairs = NumberPairs(targets, list(targets))
    assert pairs.mean_absolute_error() == pairs.root_mean_squared_error() == 0
    assert pairs.coefficient_of_determination() == pairs.spearman_correlation() == 1


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=20), st.sampled_from([2.0**-1000, 2.0**900]))
def test_errors_scale_with_extreme_numbers(rows: list[tuple[float, float]], scale: float) -> None:
    targets, predictions = ([round(each) for each in column] for column in zip(*rows, strict=True))
    plain = NumberPairs(list(map(float, targets)), list(map(float, predictions)))
    extreme = NumberPairs([each * scale for each in targets], [each * scale for each in predictions])
    assert extreme.mean_absolute_error() == pytest.approx(plain.mean_absolute_error() * scale, rel=1e-12)
    assert extreme.root_mean_squared_error() == pytest.approx(plain.root_mean_squared_error() * scale, rel=1e-12)
    found = extreme.coefficient_of_determination()
    assert found == pytest.approx(plain.coefficient_of_determination(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("targets", [[LARGEST, -LARGEST, 0.0], [LARGEST, LARGEST, 1.0], [SMALLEST, 0.0, 0.0]])
def test_exact_predictions_of_extreme_targets_are_exact(targets: list[float]) -> None:
    pairs = NumberPairs(targets, list(targets))
    assert pairs.mean_absolute_error() == pairs.root_mean_squared_error() == 0
    assert pairs.coefficient_of_determination() == 1


def test_determination_of_extreme_targets_is_not_lost_to_overflow() -> None:
    found = NumberPairs([LARGEST, -LARGEST], [0.0, 0.0]).coefficient_of_determination()
    assert found == pytest.approx(0, abs=1e-12)


def test_root_of_squared_errors_survives_their_overflow() -> None:
    assert NumberPairs([1.2e154] * 3, [0.0] * 3).root_mean_squared_error() == pytest.approx(1.2e154)


@pytest.mark.parametrize(
    "score",
    [
        NumberPairs.mean_absolute_error,
        NumberPairs.root_mean_squared_error,
        NumberPairs.mean_absolute_percentage_error,
        NumberPairs.coefficient_of_determination,
    ],
)
def test_score_beyond_a_double_is_undefined(score: Callable[[NumberPairs], float]) -> None:
    with pytest.raises(UndefinedScore, match="too far"):
        score(NumberPairs([1e-300, 2e-300], [LARGEST, -LARGEST]))
