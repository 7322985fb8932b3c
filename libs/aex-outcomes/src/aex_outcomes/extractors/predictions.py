"""Predictions in an output, and their order: by the items' ids, or by position."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from aex_models.numbers import is_integral_number
from aex_models.work import Problem
from aex_outcomes.extractors.protocol import AgentFault
from aex_outcomes.extractors.text_quality import require_json_pointer
from aex_outcomes.json_values import MISSING, resolve_pointer

T = TypeVar("T")
PREDICTIONS_POINTER = "/predictions"
Key = str | tuple[str, int]
"""Label or id in a form in which True, 1 and "1" differ; 1.0 equals 1, as in canonical JSON."""
Keys = Sequence[Key | None]


@dataclass(frozen=True, slots=True)
class PredictionExtractor:
    """Base class of extractors that compare predictions with items of the evaluation data."""

    predictions_pointer: str = PREDICTIONS_POINTER
    """JSON pointer to the predictions in the output."""
    accept_list: bool = True
    """True if an output that is itself a list is its predictions."""
    selected_metrics: frozenset[str] | None = None
    """Metrics to compute; None for all."""

    def __post_init__(self) -> None:
        require_json_pointer(self.predictions_pointer)

    def for_metrics(self, metrics: frozenset[str]) -> Self:
        """Return an extractor of these metrics alone, which checks evaluation data for these alone."""
        return replace(self, selected_metrics=metrics)

    def at_pointer(self, pointer: str) -> Self:
        """Return an extractor of the predictions at this JSON pointer alone."""
        return replace(self, predictions_pointer=pointer, accept_list=False)

    def select(self, names: Iterable[str]) -> list[str]:
        """Return those of the metrics that are to be computed."""
        return [name for name in names if self.selected_metrics is None or name in self.selected_metrics]


def find_predictions(output: Any, pointer: str, *, accept_list: bool) -> Sequence[Any] | None:
    """Return the predictions at the JSON pointer of an output; None if nothing or null is there.

    `accept_list`: an output that is itself a list is its predictions. Raises `AgentFault` if they are no list.
    """
    found = output if accept_list and isinstance(output, list) else resolve_pointer(output, pointer)
    if found is MISSING or found is None:
        return None
    if not isinstance(found, list | tuple):
        raise AgentFault("not_a_list", "the predictions must be a list with one for each item")
    return found


def require_equal_count(predictions: Sequence[Any], items: Sequence[Any]) -> None:
    """Raise `AgentFault` if there is not one prediction for each item."""
    if len(predictions) != len(items):
        raise AgentFault("prediction_count", f"{len(predictions)} predictions, {len(items)} expected")


def sort_by_item(values: Sequence[T], predictions: Sequence[Any], items: Sequence[Any]) -> Sequence[T]:
    """Return the values of the predictions in the order of the items.

    They are matched by id if every item and every prediction has one, else by position. The three sequences are equally
    long, and not empty. Raises `AgentFault` if the ids of predictions and items differ, or if predictions repeat one.
    """
    if not isinstance(items[0], dict):  # the common case: not every item has an id
        return values
    item_ids = read_keys(items, "id")
    if None in item_ids or None in (ids := read_keys(predictions, "id")):
        return values
    by_id = dict(zip(ids, values, strict=True))
    if len(by_id) < len(ids) or any(each not in by_id for each in item_ids):
        raise AgentFault("prediction_ids", "the predictions' ids are not those of the items")
    return [by_id[each] for each in item_ids]


def read_keys(items: Sequence[Any], name: str) -> Keys:
    """Return the labels or ids (`name`) of items, None for a missing one; a bare item is its own label."""
    bare = name == "label"
    if set(map(type, items)) == {str}:  # the common case
        return items if bare else [None]
    values = [item.get(name) if isinstance(item, dict) else item if bare else None for item in items]
    return values if {str, type(None)}.issuperset(map(type, values)) else [_to_key(value) for value in values]


def _to_key(value: Any) -> Key | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return ("boolean", int(value))
    return ("number", int(value)) if is_integral_number(value) else None


def check_unique_ids(evaluation: Mapping[str, Any], key: str) -> Iterator[Problem]:
    """Yield a problem if two items under this key of evaluation data have the same id."""
    items = evaluation.get(key)
    ids = read_keys(items, "id") if isinstance(items, list | tuple) else []
    if any(count > 1 for each, count in Counter(ids).items() if each is not None):
        yield Problem(path=f"/{key}", code="duplicate_id", message=f"Ids in {key} must differ")
