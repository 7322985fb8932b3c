"""Scores of predicted probabilities: area under the ROC curve, logarithmic loss and Brier score.

Equal to scikit-learn's `roc_auc_score` (macro, one-vs-rest), `log_loss` and `brier_score_loss` to 1e-9.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, repeat
from operator import eq, getitem, itemgetter, mul, not_, sub

_LEAST, _GREATEST = 2.0**-52, 1 - 2.0**-52
"""Bounds of the probabilities of `log_loss`, as in scikit-learn: the epsilon of a double, and 1 minus it."""


@dataclass(frozen=True)
class LabelProbabilities:
    """True labels of items, and the predicted probabilities of their labels."""

    truth: Sequence[str]
    """True label of each item."""
    probabilities: Sequence[Mapping[str, float]]
    """Probabilities of each item by label, which sum to 1; all true labels of all items are among the labels."""
    labels: Sequence[str]
    """Different true labels, at least two; of exactly two the second one is the positive one."""

    def roc_auc(self) -> float:
        """Return the area under the ROC curve, from 0 to 1.

        It is the share of pairs of a positive and a negative item in which the positive item has the higher
        probability. Equal probabilities count half. With more than two true labels it is the average over each of them
        against the rest.
        """
        positives = self.labels if len(self.labels) > 2 else self.labels[1:]
        return math.fsum(map(self._area, positives)) / len(positives)

    def _area(self, label: str) -> float:
        is_positive, scores = self._columns[label]
        positives = list(compress(scores, is_positive))
        negatives = sorted(compress(scores, map(not_, is_positive)))
        below = sum(map(bisect_left, repeat(negatives), positives))
        not_above = sum(map(bisect_right, repeat(negatives), positives))
        return (below + not_above) / (2 * len(positives) * len(negatives))

    def log_loss(self) -> float:
        """Return the mean of the negative natural logarithms of the true labels' probabilities.

        A probability counts as at least 2^-52, and as at most 1 - 2^-52.
        """
        found = list(map(getitem, self.probabilities, self.truth))
        if min(found) < _LEAST or max(found) > _GREATEST:
            found = [max(_LEAST, min(_GREATEST, each)) for each in found]
        return -math.fsum(map(math.log, found)) / len(found)

    def brier_score(self) -> float:
        """Return the mean squared distance of the probabilities from the truth.

        The truth is 1 or 0 for each label. The score runs from 0 to 2; with two true labels it is halved, as is usual.
        """
        errors = [list(map(sub, is_true, column)) for is_true, column in self._columns.values()]
        errors.append(self._list_others())
        total = math.fsum(math.fsum(map(mul, each, each)) for each in errors)
        return total / len(self.truth) / (2 if len(self.labels) == 2 else 1)

    @cached_property
    def _columns(self) -> Mapping[str, tuple[list[bool], list[float]]]:
        """Return for each true label whether each item has it, and its probabilities."""
        return {
            label: (list(map(eq, self.truth, repeat(label))), list(map(itemgetter(label), self.probabilities)))
            for label in self.labels
        }

    def _list_others(self) -> list[float]:
        """Return the probabilities of labels that are never true."""
        if sum(map(len, self.probabilities)) == len(self.labels) * len(self.probabilities):
            return []
        return [p for each in self.probabilities for label, p in each.items() if label not in self._columns]
