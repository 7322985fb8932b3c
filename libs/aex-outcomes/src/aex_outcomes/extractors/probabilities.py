"""Extractor of scores that compare predicted probabilities of labels with the ground truth."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter, methodcaller
from typing import Any

from aex_models.catalog import Direction, MetricEntry
from aex_models.numbers import JsonFloat
from aex_models.work import Problem
from aex_outcomes.extractors.catalog_entries import build_secret_number_entry, build_secret_score_entry
from aex_outcomes.extractors.predictions import (
    Key,
    PredictionExtractor,
    check_unique_ids,
    find_predictions,
    read_keys,
    require_equal_count,
    sort_by_item,
)
from aex_outcomes.extractors.protocol import AgentFault, Metrics, PlatformFault
from aex_outcomes.kernels.probabilities import LabelProbabilities

TRUTH = "ground_truth"
_SCORES: Mapping[str, Callable[[LabelProbabilities], float]] = {
    "roc_auc": LabelProbabilities.roc_auc,
    "log_loss": LabelProbabilities.log_loss,
    "brier": LabelProbabilities.brier_score,
}
_SUM_TOLERANCE = 1e-6 + 1e-15
"""Largest difference of a sum from 1; the second term is for the rounding of a sum at the limit."""
_NUMBERS = {int, float, JsonFloat}


@dataclass(frozen=True, slots=True)
class ProbabilityExtractor(PredictionExtractor):
    """Extractor of the area under the ROC curve, the logarithmic loss and the Brier score.

    Predictions are the list at `predictions_pointer` of the output, or an output that is itself a list. Each is
    `{"probabilities": {LABEL: P}, "id"?: …}` with a probability for every true label; further labels are allowed, and
    the sum is 1. A label that is a number or a boolean is written as in JSON. Predictions are matched with the ground
    truth by `id` if every item on both sides has one, else by position.
    """

    version = "1"

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return the selected scores if there are a ground truth and predictions.

        Raises `AgentFault` for predictions that do not fit the ground truth, and `PlatformFault` for a ground truth
        that `check_evaluation` refuses.
        """
        items = task_input.get(TRUTH)
        found = find_predictions(task_output, self.predictions_pointer, accept_list=self.accept_list)
        if found is None or not isinstance(items, list | tuple) or not items:
            return {}
        labels = _read_labels(items)
        if labels is None:
            raise PlatformFault("invalid_ground_truth", "ground_truth must be labels, or objects with a `label`")
        for problem in self._check_labels(labels):
            raise PlatformFault(problem.code, problem.message)
        require_equal_count(found, items)
        ordered = list(map(_format_label, sorted(set(labels), key=_order_label)))
        probabilities = sort_by_item(_read_probabilities(found, ordered), found, items)
        scored = LabelProbabilities(list(map(_format_label, labels)), probabilities, ordered)
        return {name: _SCORES[name](scored) for name in self.select(_SCORES)}

    def supported_metrics(self) -> list[str]:
        return list(_SCORES)

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics, which are secret because the ground truth determines them."""
        at = self.predictions_pointer
        area = "Area under the ROC curve; above two labels, the average of each label against the rest."
        loss = "Mean negative natural logarithm of the probabilities of the true labels."
        score = "Mean squared error of the probabilities of all labels; halved for two labels."
        return (
            build_secret_score_entry("roc_auc", None, TRUTH, area, at),
            build_secret_number_entry("log_loss", TRUTH, loss, at, direction=Direction.LOWER),
            build_secret_number_entry("brier", TRUTH, score, at, bounds=(0, 2), direction=Direction.LOWER),
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterator[Problem]:
        """Yield problems of repeated ids, and of labels for which a selected score does not exist."""
        yield from check_unique_ids(evaluation, TRUTH)
        items = evaluation.get(TRUTH)
        labels = _read_labels(items) if isinstance(items, list | tuple) else None
        if labels:  # problems of shape are reported elsewhere
            yield from self._check_labels(labels)

    def _check_labels(self, labels: Sequence[Key]) -> Iterator[Problem]:
        scores, distinct = ", ".join(self.select(_SCORES)), set(labels)
        if scores and len(distinct) == 1:
            message = f"All labels are the same: {scores} needs at least two different ones"
            yield Problem(path=f"/{TRUTH}", code="one_class", message=message)
        if scores and len(set(map(_format_label, distinct))) < len(distinct):
            message = f'Labels such as 1 and "1" are the same key of probabilities: {scores} needs different texts'
            yield Problem(path=f"/{TRUTH}", code="ambiguous_label", message=message)


def _read_labels(items: Sequence[Any]) -> list[Key] | None:
    """Return the labels of the ground truth; None if one is missing."""
    keys = read_keys(items, "label")
    labels = [each for each in keys if each is not None]
    return labels if len(labels) == len(keys) else None


def _format_label(label: Key) -> str:
    """Return the label as a key of a JSON object: `true` for true, `1` for 1, a text as it is."""
    if isinstance(label, str):
        return label
    kind, number = label
    return str(number) if kind == "number" else str(bool(number)).lower()


def _order_label(label: Key) -> tuple[str, Any]:
    return ("text", label) if isinstance(label, str) else label


def _read_probabilities(predictions: Sequence[Any], labels: Sequence[str]) -> list[Mapping[str, float]]:
    """Return each prediction's probabilities. Raises `AgentFault`, which names no label, for invalid ones."""
    found: list[Any] = [each.get("probabilities") if isinstance(each, dict) else None for each in predictions]
    if not _are_distributions(found, labels):
        position = next(position for position, each in enumerate(found) if not _are_distributions([each], labels))
        message = "expected `probabilities` from 0 to 1 that sum to 1, with one for every label that may be true"
        raise AgentFault("invalid_probabilities", f"prediction {position}: {message}")
    return found


def _are_distributions(found: Sequence[Any], labels: Sequence[str]) -> bool:
    """Return True if each one has a probability for each label, and all its probabilities sum to 1."""
    if set(map(type, found)) != {dict}:
        return False
    try:
        deque(map(itemgetter(*labels), found), maxlen=0)
    except KeyError:
        return False
    by_item = list(map(methodcaller("values"), found))
    values = list(chain.from_iterable(by_item))
    if not _NUMBERS.issuperset(map(type, values)) or math.isnan(sum(values)):
        return False
    totals = list(map(math.fsum, by_item))
    are_shares = min(values) >= 0 and max(values) <= 1
    return are_shares and max(totals) - 1 <= _SUM_TOLERANCE and 1 - min(totals) <= _SUM_TOLERANCE
