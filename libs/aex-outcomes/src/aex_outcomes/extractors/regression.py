"""Extractor of scores that compare predicted numbers with the targets."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from aex_models.catalog import Direction, MetricEntry
from aex_models.work import Problem
from aex_outcomes.extractors.catalog_entries import build_secret_number_entry
from aex_outcomes.extractors.predictions import (
    PredictionExtractor,
    check_unique_ids,
    find_predictions,
    require_equal_count,
    sort_by_item,
)
from aex_outcomes.extractors.protocol import AgentFault, Metrics, PlatformFault
from aex_outcomes.kernels.regression import NumberPairs, UndefinedScore

TARGETS = "targets"
_SCORES: Mapping[str, Callable[[NumberPairs], float]] = {
    "mae": NumberPairs.mean_absolute_error,
    "rmse": NumberPairs.root_mean_squared_error,
    "mape": NumberPairs.mean_absolute_percentage_error,
    "r2": NumberPairs.coefficient_of_determination,
    "spearman": NumberPairs.spearman_correlation,
}
_ERRORS = {
    "mae": ("as the targets", "Mean of the absolute errors."),
    "rmse": ("as the targets", "Root of the mean squared error."),
    "mape": ("fraction", "Mean of the absolute errors, each divided by its target: 1 is 100 %."),
}
"""Unit and description of each score of which a smaller value is better."""
_MAX_ZEROS = 20
"""Maximum of targets of 0 that are reported one by one."""


@dataclass(frozen=True, slots=True)
class RegressionExtractor(PredictionExtractor):
    """Extractor of errors, determination and rank correlation of predicted numbers.

    Predictions are the list at `predictions_pointer` of the output, or an output that is itself a list. Each is
    `{"value": …, "id"?: …}` or a bare number. Predictions are matched with the targets by `id` if every item on both
    sides has one, else by position.
    """

    version = "1"

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return the selected scores if there are targets and predictions.

        An undefined score is an `AgentFault`. Raises `AgentFault` for predictions that do not fit the targets, and
        `PlatformFault` for targets that `check_evaluation` refuses.
        """
        items = task_input.get(TARGETS)
        found = find_predictions(task_output, self.predictions_pointer, accept_list=self.accept_list)
        if found is None or not isinstance(items, list | tuple) or not items:
            return {}
        targets = _read_numbers(items)
        if targets is None:
            raise PlatformFault("invalid_targets", "targets must be finite numbers, or objects with a `value`")
        for problem in self._check_numbers(targets, items):
            raise PlatformFault(problem.code, problem.message)
        pairs = NumberPairs(targets, _match_numbers(found, items))
        metrics: Metrics = {}
        for name in self.select(_SCORES):
            try:
                metrics[name] = _SCORES[name](pairs)
            except UndefinedScore as error:
                metrics[name] = AgentFault("undefined", f"{name}: {error}")
        return metrics

    def supported_metrics(self) -> list[str]:
        return list(_SCORES)

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics, which are secret because the targets determine them."""
        at = self.predictions_pointer
        return (
            *(
                build_secret_number_entry(name, TARGETS, text, at, unit=unit, direction=Direction.LOWER)
                for name, (unit, text) in _ERRORS.items()
            ),
            build_secret_number_entry(
                "r2",
                TARGETS,
                "Coefficient of determination; for equal targets 1 if all predictions are exact, else 0.",
                at,
                bounds=(None, 1),
            ),
            build_secret_number_entry(
                "spearman", TARGETS, "Rank correlation of predictions and targets.", at, bounds=(-1, 1)
            ),
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterator[Problem]:
        """Yield problems of repeated ids, and of targets for which a selected score does not exist."""
        yield from check_unique_ids(evaluation, TARGETS)
        items = evaluation.get(TARGETS)
        if isinstance(items, list | tuple) and (numbers := _read_numbers(items)):  # other shapes are reported elsewhere
            yield from self._check_numbers(numbers, items)

    def _check_numbers(self, targets: Sequence[float], items: Sequence[Any]) -> Iterator[Problem]:
        selected = self.select(_SCORES)
        if "mape" in selected and 0.0 in targets:
            zeros = (position for position, number in enumerate(targets) if number == 0)
            for position in islice(zeros, _MAX_ZEROS):
                path = f"/{TARGETS}/{position}{'/value' if isinstance(items[position], dict) else ''}"
                yield Problem(path=path, code="zero_target", message="mape divides by targets: they must not be 0")
        if "spearman" in selected and targets.count(targets[0]) == len(targets):
            message = "spearman needs targets that differ"
            yield Problem(path=f"/{TARGETS}", code="constant_targets", message=message)


def _match_numbers(predictions: Sequence[Any], items: Sequence[Any]) -> Sequence[float]:
    """Return the numbers in the order of the items. Raises `AgentFault` if they do not correspond."""
    require_equal_count(predictions, items)
    numbers = _read_numbers(predictions)
    if numbers is None:
        position = next(position for position, each in enumerate(predictions) if _read_number(each) is None)
        raise AgentFault("invalid_prediction", f"prediction {position}: expected a number or an object with a `value`")
    return sort_by_item(numbers, predictions, items)


def _read_numbers(items: Sequence[Any]) -> list[float] | None:
    """Return the numbers of items, bare or the `value` of an object; None if one is no finite double."""
    if set(map(type, items)) == {float} and math.isfinite(sum(items)):  # the common case
        return list(items)
    numbers = list(map(_read_number, items))
    found = [each for each in numbers if each is not None]
    return found if len(found) == len(numbers) else None


def _read_number(item: Any) -> float | None:
    value = item.get("value") if isinstance(item, dict) else item
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
