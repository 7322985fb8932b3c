import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.kernels.probabilities import LabelProbabilities


def binary(truth: str, positive: list[float]) -> LabelProbabilities:
    """Return probabilities of the labels n and y, of which y is the positive one."""
    return LabelProbabilities(list(truth), [{"n": 1 - each, "y": each} for each in positive], ["n", "y"])


@pytest.mark.parametrize(
    ("positive", "expected"),
    [
        ([0.1, 0.2, 0.8, 0.9], 1),
        ([0.9, 0.8, 0.2, 0.1], 0),
        ([0.5, 0.5, 0.5, 0.5], 0.5),
        ([0.1, 0.5, 0.5, 0.9], 0.875),
    ],
)
def test_area_is_the_share_of_pairs_in_order_where_ties_count_half(positive: list[float], expected: float) -> None:
    assert binary("nnyy", positive).roc_auc() == expected


def test_area_above_two_labels_is_the_average_over_each_label_against_the_rest() -> None:
    rows = [{"a": 0.6, "b": 0.3, "c": 0.1}, {"a": 0.5, "b": 0.2, "c": 0.3}, {"a": 0.2, "b": 0.2, "c": 0.6}]
    assert LabelProbabilities(["a", "b", "c"], rows, ["a", "b", "c"]).roc_auc() == pytest.approx((1 + 0.25 + 1) / 3)


def test_loss_of_a_certain_error_is_that_of_the_epsilon_of_a_double() -> None:
    assert binary("ny", [1.0, 1.0]).log_loss() == pytest.approx(52 * math.log(2) / 2)


def test_score_is_halved_for_two_labels_and_counts_untrue_ones() -> None:
    assert binary("ny", [0.2, 0.8]).brier_score() == pytest.approx(0.04)
    rows = [{"a": 0.5, "b": 0.5}, {"a": 0.0, "b": 0.5, "untrue": 0.5}]
    assert LabelProbabilities(["a", "b"], rows, ["a", "b"]).brier_score() == pytest.approx(0.25)
    three = [{"a": 1.0, "b": 0.0, "c": 0.0}] * 3
    assert LabelProbabilities(["a", "b", "c"], three, ["a", "b", "c"]).brier_score() == pytest.approx(4 / 3)


@given(st.text("ny", min_size=1, max_size=50).map(lambda truth: f"ny{truth}"))
def test_certain_and_right_predictions_are_perfect(truth: str) -> None:
    perfect = binary(truth, [float(each == "y") for each in truth])
    assert perfect.roc_auc() == 1
    assert perfect.brier_score() == 0
    assert perfect.log_loss() == pytest.approx(0, abs=1e-15)
