"""Scores of predicted labels: shares of correct ones, averaged over classes in several ways.

Equal to scikit-learn's `accuracy_score`, `precision_recall_fscore_support(average="weighted", zero_division=0)`,
`f1_score` (macro and micro, zero_division 0), `balanced_accuracy_score` and `matthews_corrcoef` to 1e-12.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import compress
from operator import eq
from typing import NamedTuple

from aex_outcomes.kernels.regression import correlate_integers


class ClassificationScores(NamedTuple):
    """Scores of predicted labels, each from 0 to 1, but `mcc` from -1 to 1."""

    accuracy: float
    precision: float
    """Average over the classes, weighted by their true counts; so are `recall` and `f1_score`."""
    recall: float
    f1_score: float
    macro_f1: float
    """Plain average of F1 over the classes that are true or predicted."""
    micro_f1: float
    balanced_accuracy: float
    """Plain average of recall over the true classes."""
    mcc: float
    """Matthews correlation coefficient; 0 if all true or all predicted labels are of one class."""


def compute_classification_scores(truth: Sequence[Hashable], predicted: Sequence[Hashable]) -> ClassificationScores:
    """Return the scores of predicted labels, which correspond to the true ones by position.

    Weighted by class, recall equals accuracy, and so does F1 over all decisions (micro). Labels are compared by
    equality, by which True is 1. Raises `ValueError` for empty lists or different lengths.
    """
    if len(truth) != len(predicted) or not truth:
        raise ValueError("truth and predictions must be as many, and at least one")
    true_counts, predicted_counts = Counter(truth), Counter(predicted)
    right = Counter(compress(truth, map(eq, truth, predicted)))
    items = len(truth)
    accuracy = right.total() / items
    precisions = [right[label] / predicted_counts[label] * n for label, n in true_counts.items() if right[label]]
    f1_by_label = {label: 2 * right[label] / (n + predicted_counts[label]) for label, n in true_counts.items()}
    f1_scores = [f1_by_label[label] * n for label, n in true_counts.items()]
    precision, f1 = (min(math.fsum(terms) / items, 1.0) for terms in (precisions, f1_scores))
    recalls = [right[label] / n for label, n in true_counts.items()]
    return ClassificationScores(
        accuracy,
        precision,
        accuracy,
        f1,
        math.fsum(f1_by_label.values()) / len(true_counts.keys() | predicted_counts.keys()),
        accuracy,
        math.fsum(recalls) / len(recalls),
        _matthews_correlation(true_counts, predicted_counts, right.total(), items),
    )


def _matthews_correlation(
    true_counts: Counter[Hashable], predicted_counts: Counter[Hashable], right: int, items: int
) -> float:
    covariance = right * items - sum(n * predicted_counts[label] for label, n in true_counts.items())
    true_variance, predicted_variance = (
        items**2 - sum(n * n for n in counts.values()) for counts in (true_counts, predicted_counts)
    )
    if not true_variance or not predicted_variance:
        return 0.0
    return correlate_integers(covariance, true_variance, predicted_variance)
