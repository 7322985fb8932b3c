"""Accuracy, and precision, recall and F1 averaged over the classes by their true counts.

Equal to scikit-learn's `accuracy_score` and `precision_recall_fscore_support(average="weighted",
zero_division=0)` to 1e-12.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import compress
from operator import eq
from typing import NamedTuple


class ClassificationScores(NamedTuple):
    """Scores of predicted labels, each from 0 to 1."""

    accuracy: float
    precision: float
    recall: float
    f1_score: float


def compute_weighted_scores(truth: Sequence[Hashable], predicted: Sequence[Hashable]) -> ClassificationScores:
    """Return the scores of predicted labels, which correspond to the true ones by position.

    Precision, recall and F1 are averages over the classes, weighted by their true counts; so recall equals accuracy.
    Labels are compared by equality, by which True is 1. Raises `ValueError` for empty lists or different lengths.
    """
    if len(truth) != len(predicted) or not truth:
        raise ValueError("truth and predictions must be as many, and at least one")
    true_counts, predicted_counts = Counter(truth), Counter(predicted)
    right = Counter(compress(truth, map(eq, truth, predicted)))
    items = len(truth)
    accuracy = right.total() / items
    precisions = [right[label] / predicted_counts[label] * n for label, n in true_counts.items() if right[label]]
    f1_scores = [2 * right[label] / (n + predicted_counts[label]) * n for label, n in true_counts.items()]
    precision, f1 = (min(math.fsum(terms) / items, 1.0) for terms in (precisions, f1_scores))
    return ClassificationScores(accuracy, precision, accuracy, f1)
