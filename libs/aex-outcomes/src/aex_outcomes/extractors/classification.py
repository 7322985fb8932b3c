"""Extractor of scores that compare predicted labels with the ground truth."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.catalog import Direction, MetricEntry
from aex_models.numbers import is_finite_number, is_integral_number
from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.catalog_entries import build_count_entry, build_secret_score_entry
from aex_outcomes.extractors.protocol import AgentFault, Metrics
from aex_outcomes.extractors.text_quality import require_json_pointer
from aex_outcomes.json_values import resolve_pointer
from aex_outcomes.kernels.classification import compute_weighted_scores

_SCORES = ("accuracy", "precision", "recall", "f1_score")
_SHARES = {
    "accuracy": "Share of predictions that equal the true label.",
    "precision": "Precision of each label, averaged with the number of its true items as weight.",
    "recall": "Recall of each label, averaged with the number of its true items as weight.",
}
Key = str | tuple[str, int]
"""Label or id in a form in which True, 1 and "1" differ; 1.0 equals 1, as in canonical JSON."""
_Keys = Sequence[Key | None]


@dataclass(frozen=True, slots=True)
class ClassificationExtractor:
    """Extractor of accuracy, and of precision, recall and F1 averaged over the classes (zero_division 0).

    Predictions are the list at `predictions_pointer` of the output, or an output that is itself a list. Each is
    `{"label": …, "id"?: …, "confidence"?: …}` or a bare label. Predictions are matched with the ground truth by `id` if
    every item on both sides has one, else by position. `confidence` is the predictions' mean if each has one, and the
    output's `/confidence` if none has one.
    """

    predictions_pointer: str = "/predictions"
    """JSON pointer to the predictions in the output."""
    version = "2"

    def __post_init__(self) -> None:
        require_json_pointer(self.predictions_pointer)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return number of predictions and confidence, and the scores if there is a ground truth.

        Predictions that do not fit the ground truth give an `AgentFault` in place of each score.
        """
        found = task_output if isinstance(task_output, list) else resolve_pointer(task_output, self.predictions_pointer)
        if not isinstance(found, list | tuple):
            return _output_confidence(task_output)
        metrics: Metrics = {"num_predictions": len(found), **_confidence(found, task_output)}
        truth = task_input.get("ground_truth")
        if not isinstance(truth, list | tuple) or not truth:
            return metrics
        try:
            return metrics | dict(zip(_SCORES, compute_weighted_scores(*_match_labels(truth, found)), strict=True))
        except AgentFault as fault:
            return metrics | dict.fromkeys(_SCORES, fault)

    def supported_metrics(self) -> list[str]:
        return [*_SCORES, "confidence", "num_predictions"]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics; scores are secret, because the ground truth determines them."""
        return (
            *(
                build_secret_score_entry(name, MetricType.ACCURACY, "ground_truth", text)
                for name, text in _SHARES.items()
            ),
            build_secret_score_entry(
                "f1_score",
                MetricType.F1_SCORE,
                "ground_truth",
                "F1 score of each label, averaged with the number of its true items as weight.",
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

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Yield a problem if two items of the ground truth have the same id."""
        truth = evaluation.get("ground_truth")
        ids = _keys(truth, "id") if isinstance(truth, list | tuple) else []
        present = [each for each in ids if each is not None]
        if len(set(present)) < len(present):
            yield Problem(path="/ground_truth", code="duplicate_id", message="Ids in ground_truth must differ")


def _match_labels(truth: Sequence[Any], predictions: Sequence[Any]) -> tuple[_Keys, _Keys]:
    """Return true and predicted labels in the same order. Raises `AgentFault` if they do not correspond."""
    if len(predictions) != len(truth):
        raise AgentFault("prediction_count", f"{len(predictions)} predictions, {len(truth)} expected")
    labels = _keys(predictions, "label")
    if None in labels:
        position = labels.index(None)
        raise AgentFault("invalid_prediction", f"prediction {position}: expected a label or an object with one")
    true_ids = _keys(truth, "id")
    if None not in true_ids and None not in (ids := _keys(predictions, "id")):
        by_id = dict(zip(ids, labels, strict=True))
        if len(by_id) < len(ids) or any(each not in by_id for each in true_ids):
            raise AgentFault("prediction_ids", "the predictions' ids are not those of the items")
        labels = [by_id[each] for each in true_ids]
    return _keys(truth, "label"), labels


def _keys(items: Sequence[Any], name: str) -> _Keys:
    """Return the labels or ids (`name`) of items, None for a missing one; a bare item is its own label."""
    bare = name == "label"
    if set(map(type, items)) == {str}:  # the common case
        return items if bare else [None]
    values = [item.get(name) if isinstance(item, dict) else item if bare else None for item in items]
    return values if {str, type(None)}.issuperset(map(type, values)) else [_key(value) for value in values]


def _key(value: Any) -> Key | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("boolean", int(value))
    return ("number", int(value)) if is_integral_number(value) else None


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
