"""Predicted labels against the ground truth."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.catalog import Direction, MetricEntry
from aex_models.numbers import is_integer, is_number
from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.entries import secret_score
from aex_outcomes.extractors.protocol import AgentFault, MetricValue
from aex_outcomes.extractors.text import checked_pointer
from aex_outcomes.kernels.classification import classification_scores
from aex_outcomes.pointer import resolve

_SCORES = ("accuracy", "precision", "recall", "f1_score")
Key = str | tuple[str, int]
"""A label or an id that keeps True, 1 and "1" apart; 1.0 is 1, as in canonical JSON."""


@dataclass(frozen=True, slots=True)
class ClassificationExtractor:
    """Accuracy, and weighted averages of precision, recall and F1 (zero_division 0).

    Predictions lie at `predictions_pointer` of the output; an output that is itself a list is the predictions.
    Each is `{"label": …, "id"?: …, "confidence"?: …}` or a bare label. They are matched with the ground truth by
    `id` where every item on both sides has one, and by position otherwise.
    """

    predictions_pointer: str = "/predictions"
    version = "1"

    def __post_init__(self) -> None:
        checked_pointer(self.predictions_pointer)

    async def extract(
        self,
        task_input: Mapping[str, Any],
        task_output: Any,
        metadata: Mapping[str, Any],  # noqa: ARG002 part of the protocol
    ) -> dict[str, MetricValue]:
        """The scores where there is a ground truth; count and confidence from the predictions alone."""
        found = task_output if isinstance(task_output, list) else resolve(task_output, self.predictions_pointer)
        if not isinstance(found, list | tuple):
            return {}
        metrics: dict[str, MetricValue] = {"num_predictions": len(found), **_confidence(found)}
        truth = task_input.get("ground_truth")
        if isinstance(truth, list | tuple) and truth:
            metrics |= _scores(truth, found)
        return metrics

    def supported_metrics(self) -> list[str]:
        """Four scores, the agent's own confidence, and the number of predictions."""
        return [*_SCORES, "confidence", "num_predictions"]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """The scores are secret: they are computed from the ground truth."""
        return (
            secret_score("accuracy", MetricType.ACCURACY, "ground_truth"),
            secret_score("precision", MetricType.ACCURACY, "ground_truth"),
            secret_score("recall", MetricType.ACCURACY, "ground_truth"),
            secret_score("f1_score", MetricType.F1_SCORE, "ground_truth"),
            MetricEntry(
                name="confidence",
                unit="fraction",
                range=(0, 1),
                direction=Direction.HIGHER,
                provenance=Provenance.SELF_REPORTED,
                metric_types=(MetricType.PERCENTAGE, MetricType.NUMERIC, MetricType.ACCURACY),
            ),
            MetricEntry(
                name="num_predictions",
                unit="items",
                range=(0, None),
                metric_types=(MetricType.COUNT, MetricType.NUMERIC),
            ),
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """An id that two true labels share can match no prediction."""
        truth = evaluation.get("ground_truth")
        ids = _keys(truth, "id") if isinstance(truth, list | tuple) else []
        given = [each for each in ids if each is not None]
        if len(set(given)) < len(given):
            yield Problem(path="/ground_truth", code="duplicate_id", message="Ids in ground_truth must differ")


def _scores(truth: Sequence[Any], predictions: Sequence[Any]) -> dict[str, MetricValue]:
    try:
        pairs = _matched(truth, predictions)
    except AgentFault as fault:
        return dict.fromkeys(_SCORES, fault)
    scores = classification_scores(*pairs)
    return dict(zip(_SCORES, (scores.accuracy, scores.precision, scores.recall, scores.f1), strict=True))


def _matched(truth: Sequence[Any], predictions: Sequence[Any]) -> tuple[Sequence[Key | None], Sequence[Key | None]]:
    """True and predicted labels in one order. Raises `AgentFault` where the predictions do not fit."""
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


def _keys(items: Sequence[Any], name: str) -> Sequence[Key | None]:
    """The labels or the ids of items; a bare item is its own label, and has no id."""
    bare = name == "label"
    kinds = frozenset(map(type, items))
    if kinds == _TEXTS:
        return items if bare else [None]
    values = (
        [item.get(name) for item in items]
        if kinds == _OBJECTS
        else [item.get(name) if isinstance(item, dict) else item if bare else None for item in items]
    )
    return values if _PLAIN.issuperset(map(type, values)) else [_key(value) for value in values]


_TEXTS, _OBJECTS = frozenset({str}), frozenset({dict})
"""The common cases, which need no look at each item."""
_PLAIN = frozenset({str, type(None)})


def _key(value: Any) -> Key | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("boolean", int(value))
    return ("number", int(value)) if is_integer(value) else None


def _confidence(predictions: Sequence[Any]) -> dict[str, MetricValue]:
    """The mean confidence where every prediction has one: a mean over some could be chosen by the agent."""
    if not predictions or not all(isinstance(item, dict) for item in predictions):
        return {}
    values: list[Any] = [item.get("confidence") for item in predictions]
    if None in values:
        return {}
    if not all(is_number(value) for value in values):
        return {"confidence": AgentFault("not_a_number", "each confidence must be a number")}
    if not all(0 <= value <= 1 for value in values):
        return {"confidence": AgentFault("out_of_range", "each confidence must lie from 0 to 1")}
    return {"confidence": math.fsum(values) / len(values)}
