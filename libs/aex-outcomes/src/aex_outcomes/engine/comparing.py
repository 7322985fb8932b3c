"""Holding one value against one threshold: what the type and the catalogue rule out, and what the comparison says."""

import math
from collections.abc import Mapping
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.criteria import Scale, SuccessCriterion
from aex_models.numbers import is_integer, is_number
from aex_models.thresholds import UNIT_TYPES, ComparisonOperator, MetricType
from aex_outcomes.custom_names import is_custom

EQUALITY_TOLERANCE = 1e-4
"""`eq` on fractional quantities: an absolute difference below this. Counts and booleans are compared exactly."""

_BOOLEAN_TYPES = frozenset({MetricType.BOOLEAN, MetricType.MATCHES_SCHEMA})
_FRACTIONS = UNIT_TYPES | {MetricType.PERCENTAGE}
Bounds = tuple[float | None, float | None]


def is_boolean(criterion: SuccessCriterion) -> bool:
    """Whether the criterion is about true and false. A custom metric's is where its threshold is a boolean."""
    if criterion.metric_type is MetricType.CUSTOM:
        return isinstance(criterion.threshold, bool)
    return criterion.metric_type in _BOOLEAN_TYPES


def in_fractions(criterion: SuccessCriterion, value: Any) -> Any:
    """A custom metric's value on the scale of 0 to 1, where its criterion counts in percent, be it said or inferred.

    All other metrics are fractions and never rescaled.
    """
    return scaled(criterion, value) if is_custom(criterion.metric) and is_number(value) else value


def value_problem(criterion: SuccessCriterion, value: Any, entry: MetricEntry) -> tuple[str, str] | None:
    """Code and message where the value is one that its type or the catalogue rules out, else None."""
    if is_boolean(criterion):
        return None if isinstance(value, bool) else ("not_a_boolean", "expected true or false")
    if not is_number(value):
        return ("not_a_number", "expected a finite number")
    if criterion.metric_type is MetricType.COUNT and not is_integer(value):
        return ("out_of_range", "expected a whole number")
    for bounds in (type_bounds(criterion.metric_type), entry.range):
        if not within(value, bounds):
            return ("out_of_range", f"{value} is not {_described(bounds)}")
    return None


def type_bounds(metric_type: MetricType) -> Bounds:
    """The least and the greatest value that a type takes."""
    if metric_type in _FRACTIONS:
        return (0, 1)
    return (0, None) if metric_type in {MetricType.LATENCY, MetricType.COUNT} else (None, None)


def within(value: float, bounds: Bounds) -> bool:
    """Whether a number lies between two bounds, both included."""
    low, high = bounds
    return (low is None or value >= low) and (high is None or value <= high)


def _described(bounds: Bounds) -> str:
    low, high = bounds
    if low is not None and high is not None:
        return f"from {low:g} to {high:g}"
    return f"{low:g} or more" if low is not None else f"{high:g} or less"


def meets(criterion: SuccessCriterion, value: bool | float) -> bool:
    """Whether a value that its type takes meets the criterion."""
    threshold = criterion.threshold
    match criterion.comparison:
        case ComparisonOperator.CONTAINS_ALL:
            return value == 1
        case ComparisonOperator.CONTAINS_ANY:
            return value > 0
        case ComparisonOperator.IN_RANGE:
            return within(value, (scaled(criterion, threshold.get("min")), scaled(criterion, threshold.get("max"))))
    if isinstance(threshold, Mapping):  # a JSON Schema: it asks for conformance
        threshold = True
    return _compared(criterion, value, threshold if isinstance(threshold, bool) else scaled(criterion, threshold))


def _compared(criterion: SuccessCriterion, value: float, threshold: float) -> bool:
    match criterion.comparison:
        case ComparisonOperator.GTE:
            return value >= threshold
        case ComparisonOperator.GT:
            return value > threshold
        case ComparisonOperator.LTE:
            return value <= threshold
        case ComparisonOperator.LT:
            return value < threshold
        case ComparisonOperator.NEQ:
            return not _equal(criterion, value, threshold)
        case _:
            return _equal(criterion, value, threshold)


def _equal(criterion: SuccessCriterion, value: float, threshold: float) -> bool:
    if is_boolean(criterion) or criterion.metric_type is MetricType.COUNT:
        return value == threshold
    return math.fabs(value - threshold) < EQUALITY_TOLERANCE


def scaled(criterion: SuccessCriterion, bound: Any) -> Any:
    """A threshold (or one end of a range, or a custom value) as a fraction, where the criterion is a percentage's."""
    if bound is None or criterion.metric_type is not MetricType.PERCENTAGE or not is_percent(criterion):
        return bound
    return bound / 100


def is_percent(criterion: SuccessCriterion) -> bool:
    """Whether a percentage's threshold is written as 90 and not as 0.9: as `scale` says, else if it is above 1."""
    if criterion.scale is not None:
        return criterion.scale is Scale.PERCENT
    threshold = criterion.threshold
    return any(end > 1 for end in (threshold.values() if isinstance(threshold, Mapping) else [threshold]))
