import random

import pytest
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from aex_outcomes.kernels.classification import compute_weighted_scores

Labels = list[str] | list[int] | list[bool]


def assert_equal_to_sklearn(truth: Labels, predicted: Labels) -> None:
    accuracy, *others = compute_weighted_scores(truth, predicted)
    expected = precision_recall_fscore_support(truth, predicted, average="weighted", zero_division=0)[:3]
    assert accuracy == others[1] == pytest.approx(accuracy_score(truth, predicted), abs=1e-12)
    assert others == pytest.approx(list(expected), abs=1e-12)


def test_scores_equal_scikit_learn_on_random_labels() -> None:
    source = random.Random(31)
    for _ in range(200):
        classes = "abcdefghijkl"[: source.choice([1, 2, 3, 11])]
        truth = source.choices(classes, k=source.choice([1, 2, 5, 30, 200]))
        noise = source.random()
        assert_equal_to_sklearn(
            truth, [source.choice(classes + "z") if source.random() < noise else label for label in truth]
        )


@pytest.mark.parametrize("predicted", [[True, True, False, True], [True] * 4, [0, 2, 4, 0]])
def test_scores_equal_scikit_learn_on_booleans_and_integers(predicted: list[int]) -> None:
    assert_equal_to_sklearn([type(predicted[0])(each) for each in (1, 0, 1, 1)], predicted)


def test_unpredicted_class_counts_0() -> None:
    assert compute_weighted_scores(["a", "b"], ["a", "a"]) == pytest.approx((0.5, 0.25, 0.5, 1 / 3))


@pytest.mark.parametrize(("truth", "predicted"), [([], []), (["a"], []), (["a"], ["a", "b"])])
def test_lists_of_other_length_are_refused(truth: list[str], predicted: list[str]) -> None:
    with pytest.raises(ValueError, match="as many"):
        compute_weighted_scores(truth, predicted)
