import random
import warnings

import pytest
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    precision_recall_fscore_support,
)

from aex_outcomes.kernels.classification import compute_classification_scores

Labels = list[str] | list[int] | list[bool]


def assert_equal_to_sklearn(truth: Labels, predicted: Labels) -> None:
    found = compute_classification_scores(truth, predicted)
    weighted = precision_recall_fscore_support(truth, predicted, average="weighted", zero_division=0)[:3]
    assert (
        found.accuracy == found.recall == found.micro_f1 == pytest.approx(accuracy_score(truth, predicted), abs=1e-12)
    )
    assert found[1:4] == pytest.approx(weighted, abs=1e-12)
    macro, micro = (f1_score(truth, predicted, average=each, zero_division=0) for each in ("macro", "micro"))
    with warnings.catch_warnings(action="ignore"):  # of labels that are only predicted, and of single ones
        others = balanced_accuracy_score(truth, predicted), matthews_corrcoef(truth, predicted)
    assert found[4:] == pytest.approx((macro, micro, *others), abs=1e-12)


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
    found = compute_classification_scores(["a", "b"], ["a", "a"])
    assert found == pytest.approx((0.5, 0.25, 0.5, 1 / 3, 1 / 3, 0.5, 0.5, 0))


@pytest.mark.parametrize(("truth", "predicted"), [("aa", "aa"), ("ab", "aa"), ("aa", "ab")])
def test_correlation_is_0_for_an_empty_margin(truth: str, predicted: str) -> None:
    assert compute_classification_scores(list(truth), list(predicted)).mcc == 0


@pytest.mark.parametrize("items", [2, 3, 10, 999])
def test_correlation_of_perfect_and_of_opposite_predictions_is_exact(items: int) -> None:
    truth = [position % 2 for position in range(items)]
    assert compute_classification_scores(truth, truth).mcc == 1
    assert compute_classification_scores(truth, [1 - each for each in truth]).mcc == -1


@pytest.mark.parametrize(("truth", "predicted"), [([], []), (["a"], []), (["a"], ["a", "b"])])
def test_lists_of_other_length_are_refused(truth: list[str], predicted: list[str]) -> None:
    with pytest.raises(ValueError, match="as many"):
        compute_classification_scores(truth, predicted)
