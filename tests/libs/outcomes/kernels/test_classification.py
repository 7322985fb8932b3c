"""Scores equal scikit-learn."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from aex_outcomes.kernels.classification import classification_scores

Labels = list[str] | list[int] | list[bool]


def assert_equal(truth: Labels, predicted: Labels) -> None:
    scores = classification_scores(truth, predicted)
    precision, recall, f1, _ = precision_recall_fscore_support(truth, predicted, average="weighted", zero_division=0)
    assert scores.accuracy == pytest.approx(accuracy_score(truth, predicted), abs=1e-12)
    assert (scores.precision, scores.recall, scores.f1) == pytest.approx((precision, recall, f1), abs=1e-12)


def cases(seed: int, count: int) -> list[tuple[list[str], list[str]]]:
    source = random.Random(seed)
    made = []
    for _ in range(count):
        classes = "abcdefghijkl"[: source.choice([1, 2, 3, 11])]
        truth = source.choices(classes, k=source.choice([1, 2, 5, 30, 200]))
        noise = source.random()
        guessed = [source.choice(classes + "z") if source.random() < noise else label for label in truth]
        made.append((truth, guessed))
    return made


def test_scores_equal_scikit_learn_on_random_labels() -> None:
    for truth, predicted in cases(seed=31, count=150):
        assert_equal(truth, predicted)


@pytest.mark.slow
def test_scores_equal_scikit_learn_on_3000_sets_of_labels() -> None:
    for truth, predicted in cases(seed=32, count=3_000):
        assert_equal(truth, predicted)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30))
def test_scores_equal_scikit_learn_on_integers(labels: list[tuple[int, int]]) -> None:
    assert_equal([true for true, _ in labels], [guess for _, guess in labels])


def test_scores_equal_scikit_learn_on_booleans() -> None:
    assert_equal([True, False, True, True], [True, True, False, True])


def test_a_class_that_is_never_predicted_counts_0() -> None:
    scores = classification_scores(["a", "b"], ["a", "a"])
    assert (scores.precision, scores.recall) == (0.25, 0.5)
    assert scores.f1 == pytest.approx(1 / 3)


def test_recall_is_exactly_the_accuracy() -> None:
    for truth, predicted in cases(seed=33, count=200):
        scores = classification_scores(truth, predicted)
        assert scores.recall == scores.accuracy


@pytest.mark.parametrize(("truth", "predicted"), [([], []), (["a"], []), (["a"], ["a", "b"])])
def test_lists_that_do_not_pair_up_are_refused(truth: list[str], predicted: list[str]) -> None:
    with pytest.raises(ValueError, match="as many"):
        classification_scores(truth, predicted)
