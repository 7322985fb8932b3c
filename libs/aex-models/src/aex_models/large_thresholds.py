"""Removal and restoration of thresholds above 256 bytes in stored results and cost lines.

Records and events hold a large threshold once, in the success criteria. Results and cost lines are stored with the
index of their criterion instead, and get the threshold back before anyone reads them.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from aex_models.canonical import canonical_bytes
from aex_models.criteria import SuccessCriteria
from aex_models.outcome import OutcomeRecord
from aex_models.results import CriterionResult, VerificationResult
from aex_models.settlement import Cost, CostLine, Settlement

MAX_REPEATED_BYTES = 256
"""Largest canonical size of a threshold that results and cost lines store themselves."""

L = TypeVar("L", CriterionResult, CostLine)


def omit_large_thresholds(result: VerificationResult) -> VerificationResult:
    """Return a result as it is stored: without large thresholds, which the success criteria hold."""
    results = tuple(
        each.model_copy(update={"threshold": None}) if _is_repeated(each) else each for each in result.criterion_results
    )
    return result.model_copy(update={"criterion_results": results})


def _is_repeated(result: CriterionResult) -> bool:
    is_long = isinstance(result.threshold, dict | list | tuple)
    return result.criterion is not None and is_long and len(canonical_bytes(result.threshold)) > MAX_REPEATED_BYTES


def restore_result_thresholds(result: VerificationResult, criteria: SuccessCriteria | None) -> VerificationResult:
    """Return a stored result with its omitted thresholds, taken from `criteria`."""
    return result.model_copy(update={"criterion_results": _restore_thresholds(result.criterion_results, criteria)})


def restore_outcome_thresholds(record: OutcomeRecord) -> OutcomeRecord:
    """Return a stored outcome record with the omitted thresholds of its result."""
    if record.verification_result is None:
        return record
    result = restore_result_thresholds(record.verification_result, record.success_criteria)
    return record.model_copy(update={"verification_result": result})


def has_omitted_thresholds(lines: Iterable[CriterionResult | CostLine]) -> bool:
    """Return whether any line lacks its threshold, so that the criteria are needed to show it."""
    return any(_find_threshold_index(each) is not None for each in lines)


def restore_settlement_thresholds(settlement: Settlement) -> Settlement:
    """Return a stored settlement with the omitted thresholds of its cost lines."""
    if settlement.success_criteria is None:
        return settlement
    revisions = tuple(
        each.model_copy(update={"cost": _restore_cost(each.cost, settlement.success_criteria)})
        for each in settlement.revisions
    )
    cost = _restore_cost(settlement.cost, settlement.success_criteria)
    return settlement.model_copy(update={"revisions": revisions, "cost": cost})


def _restore_cost(cost: Cost, criteria: SuccessCriteria) -> Cost:
    return cost.model_copy(update={"lines": _restore_thresholds(cost.lines, criteria)})


def _restore_thresholds(lines: tuple[L, ...], criteria: SuccessCriteria | None) -> tuple[L, ...]:
    thresholds = [each.threshold for each in criteria.criteria] if criteria else []
    return tuple(_with_threshold(each, thresholds) for each in lines)


def _with_threshold(line: L, thresholds: list[Any]) -> L:
    position = _find_threshold_index(line)
    if position is None or position >= len(thresholds):
        return line
    return line.model_copy(update={"threshold": thresholds[position]})


def _find_threshold_index(line: CriterionResult | CostLine) -> int | None:
    """Return the index of the criterion that holds the line's threshold; None if none was omitted."""
    return line.criterion if line.threshold is None else None
