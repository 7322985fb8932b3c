"""Extractor of scores that compare predicted labels with the ground truth."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aex_models.catalog import Direction, MetricEntry
from aex_models.numbers import is_finite_number
from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.catalog_entries import (
    build_count_entry,
    build_secret_number_entry,
    build_secret_score_entry,
)
from aex_outcomes.extractors.predictions import (
    PREDICTIONS_POINTER,
    Keys,
    check_unique_ids,
    find_predictions,
    read_keys,
    require_equal_count,
    sort_by_item,
)
from aex_outcomes.extractors.protocol import AgentFault, Metrics
from aex_outcomes.extractors.text_quality import require_json_pointer
from aex_outcomes.kernels.classification import ClassificationScores, compute_classification_scores

_ACCURACIES = {
    "accuracy": "Share of predictions that equal the true label.",
    "precision": "Precision of each label, averaged with the number of its true items as weight.",
    "recall": "Recall of each label, averaged with the number of its true items as weight.",
}
_SHARES = {
    "macro_f1": "Plain average of the F1 scores of all labels that are true or predicted.",
    "micro_f1": "F1 score over all decisions, which equals the accuracy.",
    "balanced_accuracy": "Plain average of the recalls of all true labels.",
}
_SCORES = ClassificationScores._fields
_NAMED_SCORES = (*_SHARES, "mcc")
"""Scores that can be named. Predictions that are no list give these a fault; other metrics are missing."""


@dataclass(frozen=True, slots=True)
class ClassificationExtractor:
    """Extractor of accuracy, averages of precision, recall and F1, and the Matthews correlation.

    An undefined precision, recall or F1 is 0.

    Predictions are the list at `predictions_pointer` of the output, or an output that is itself a list. Each is
    `{"label": …, "id"?: …, "confidence"?: …}` or a bare label. Predictions are matched with the ground truth by `id` if
    every item on both sides has one, else by position. `confidence` is the predictions' mean if each has one, and the
    output's `/confidence` if none has one.
    """

    predictions_pointer: str = PREDICTIONS_POINTER
    """JSON pointer to the predictions in the output."""
    accept_list: bool = True
    """True if an output that is itself a list is its predictions."""
    version = "3"

    def __post_init__(self) -> None:
        require_json_pointer(self.predictions_pointer)

    def at_pointer(self, pointer: str) -> "ClassificationExtractor":
        """Return an extractor of the predictions at this JSON pointer alone."""
        return replace(self, predictions_pointer=pointer, accept_list=False)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return the number of predictions, their confidence, and the scores if there is a ground truth.

        Predictions that do not fit the ground truth give an `AgentFault` in place of each score.
        """
        try:
            found = find_predictions(task_output, self.predictions_pointer, accept_list=self.accept_list)
        except AgentFault as fault:
            return _output_confidence(task_output) | dict.fromkeys(_NAMED_SCORES, fault)
        if found is None:
            return _output_confidence(task_output)
        metrics: Metrics = {"num_predictions": len(found), **_confidence(found, task_output)}
        truth = task_input.get("ground_truth")
        if not isinstance(truth, list | tuple) or not truth:
            return metrics
        try:
            return metrics | dict(
                zip(_SCORES, compute_classification_scores(*_match_labels(truth, found)), strict=True)
            )
        except AgentFault as fault:
            return metrics | dict.fromkeys(_SCORES, fault)

    def supported_metrics(self) -> list[str]:
        return [*_SCORES, "confidence", "num_predictions"]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics; scores are secret, because the ground truth determines them."""
        truth, at = "ground_truth", self.predictions_pointer
        entries = (
            *(build_secret_score_entry(name, MetricType.ACCURACY, truth, text) for name, text in _ACCURACIES.items()),
            build_secret_score_entry(
                "f1_score",
                MetricType.F1_SCORE,
                truth,
                "F1 score of each label, averaged with the number of its true items as weight.",
            ),
            *(build_secret_score_entry(name, None, truth, text, at) for name, text in _SHARES.items()),
            build_secret_number_entry(
                "mcc",
                truth,
                "Matthews correlation coefficient; 0 if all true or all predicted labels are the same.",
                at,
                bounds=(-1, 1),
            ),
            MetricEntry(
                name="confidence",
                description="Mean of the predictions' `confidence`; the output's own if no prediction has one.",
                unit="fraction",
                range=(0, 1),
                direction=Direction.HIGHER,
                provenance=Provenance.SELF_REPORTED,
                metric_types=(MetricType.PERCENTAGE, MetricType.NUMERIC, MetricType.ACCURACY),
            ),
            build_count_entry("num_predictions", "items", "Number of predictions in the output."),
        )
        # A confidence is read from two locations.
        return tuple(each if each.name == "confidence" else each.model_copy(update={"at": at}) for each in entries)

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Yield a problem if two items of the ground truth have the same id."""
        return check_unique_ids(evaluation, "ground_truth")


def _match_labels(truth: Sequence[Any], predictions: Sequence[Any]) -> tuple[Keys, Keys]:
    """Return true and predicted labels in the same order. Raises `AgentFault` if they do not correspond."""
    require_equal_count(predictions, truth)
    labels = read_keys(predictions, "label")
    if None in labels:
        position = labels.index(None)
        raise AgentFault("invalid_prediction", f"prediction {position}: expected a label or an object with one")
    return read_keys(truth, "label"), sort_by_item(labels, predictions, truth)


def _confidence(predictions: Sequence[Any], output: Any) -> Metrics:
    """Return the predictions' mean confidence; the output's if none has one; nothing if only some do."""
    items = predictions if dict in set(map(type, predictions)) else ()  # bare labels are the common case
    values = [item["confidence"] for item in items if isinstance(item, dict) and item.get("confidence") is not None]
    if not values:
        return _output_confidence(output)
    return _mean_confidence(values) if len(values) == len(predictions) else {}


def _output_confidence(output: Any) -> Metrics:
    value = output.get("confidence") if isinstance(output, Mapping) else None
    return {} if value is None else _mean_confidence([value])


def _mean_confidence(values: Sequence[Any]) -> Metrics:
    """Return the mean of confidences, or a fault for an invalid one."""
    if not all(is_finite_number(value) for value in values):
        return {"confidence": AgentFault("not_a_number", "each confidence must be a number")}
    if not all(0 <= value <= 1 for value in values):
        return {"confidence": AgentFault("out_of_range", "each confidence must lie from 0 to 1")}
    return {"confidence": math.fsum(values) / len(values)}
