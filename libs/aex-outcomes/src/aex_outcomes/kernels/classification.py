"""Accuracy, and precision, recall and F1 as weighted averages over the classes, from counts.

Equal to scikit-learn's `accuracy_score` and `precision_recall_fscore_support(average="weighted",
zero_division=0)` to 1e-12.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import eq


@dataclass(frozen=True, slots=True)
class ClassificationScores:
    """Four shares in [0, 1]."""

    accuracy: float
    precision: float
    recall: float
    f1: float


def classification_scores(truth: Sequence[Hashable], predicted: Sequence[Hashable]) -> ClassificationScores:
    """Scores of predictions against true labels, position by position.

    Labels are told apart by equality: callers that must tell True from 1 map them to different keys first.
    Weighted by the true classes, recall is the share of items that are right: it equals the accuracy exactly.
    Raises `ValueError` for lists of different lengths and for empty ones.
    """
    if len(truth) != len(predicted) or not truth:
        raise ValueError("truth and predictions must be as many, and at least one")
    true_counts, predicted_counts = Counter(truth), Counter(predicted)
    right = Counter(compress(truth, map(eq, truth, predicted)))
    items = len(truth)
    accuracy = right.total() / items
    return ClassificationScores(
        accuracy=accuracy,
        precision=_mean(
            [right[label] / predicted_counts[label] * n for label, n in true_counts.items() if right[label]], items
        ),
        recall=accuracy,
        f1=_mean(
            [2 * right[label] / (n + predicted_counts[label]) * n for label, n in true_counts.items()],
            items,
        ),
    )


def _mean(terms: Sequence[float], items: int) -> float:
    return min(math.fsum(terms) / items, 1.0)
