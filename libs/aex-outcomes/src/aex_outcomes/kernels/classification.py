"""Accuracy, and precision, recall and F1 as weighted averages over the classes, from counts.

Equal to scikit-learn's `accuracy_score` and `precision_recall_fscore_support(average="weighted",
zero_division=0)` to 1e-12.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import compress
from operator import eq


def classification_scores(
    truth: Sequence[Hashable], predicted: Sequence[Hashable]
) -> tuple[float, float, float, float]:
    """Return accuracy, precision, recall and F1 in [0, 1]; labels are compared by position.

    Labels are distinguished by equality: callers that distinguish True from 1 map them to different keys first.
    Weighted by the true classes, recall equals the accuracy exactly.
    Raises `ValueError` for lists of different lengths and for empty lists.
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
    return accuracy, precision, accuracy, f1
