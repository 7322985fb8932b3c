"""Evaluation of one criterion: validity of the value, percentages, comparison with the threshold."""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from aex_models.catalog import MetricEntry
from aex_models.criteria import Scale, SuccessCriterion
from aex_models.examination import Fault
from aex_models.numbers import is_finite_number, is_integral_number
from aex_models.results import CUSTOM_METRIC_FAILED, METRIC_MISSING, CriterionError, CriterionResult, Provenance
from aex_models.thresholds import UNIT_TYPES, ComparisonOperator, MetricType
from aex_outcomes.engine.extraction_plan import Reading
from aex_outcomes.metric_names import is_custom_metric

EQUALITY_TOLERANCE = 1e-4
"""Absolute difference below which `eq` holds for fractions. Counts and booleans are compared exactly."""

_BOOLEAN_TYPES = frozenset({MetricType.BOOLEAN, MetricType.MATCHES_SCHEMA})
Bounds = tuple[float | None, float | None]
_TYPE_BOUNDS: Mapping[MetricType, Bounds] = {
    **dict.fromkeys(UNIT_TYPES | {MetricType.PERCENTAGE}, (0, 1)),
    **dict.fromkeys((MetricType.LATENCY, MetricType.COUNT), (0, None)),
}
_ORDERS: Mapping[ComparisonOperator, Callable[[float, float], bool]] = {
    ComparisonOperator.GTE: operator.ge,
    ComparisonOperator.GT: operator.gt,
    ComparisonOperator.LTE: operator.le,
    ComparisonOperator.LT: operator.lt,
}


def is_boolean_criterion(criterion: SuccessCriterion) -> bool:
    """Return True if the criterion expects true or false, by its metric type or a boolean threshold."""
    if criterion.metric_type is MetricType.CUSTOM:
        return isinstance(criterion.threshold, bool)
    return criterion.metric_type in _BOOLEAN_TYPES


def to_fraction_if_custom_percent(criterion: SuccessCriterion, value: Any) -> Any:
    """Return a custom metric's value divided by 100 if its criterion is in percent, else unchanged."""
    return (
        to_fraction_if_percent(criterion, value)
        if is_custom_metric(criterion.metric) and is_finite_number(value)
        else value
    )


def is_share_and_boolean(entry: MetricEntry) -> bool:
    """Return True for a share from 0 to 1 that is also a boolean: true if the share is 1."""
    low, high = entry.range
    return low == 0 and high == 1 and {MetricType.BOOLEAN, MetricType.PERCENTAGE}.issubset(entry.metric_types)


def to_flag_if_boolean(criterion: SuccessCriterion, value: Any, entry: MetricEntry) -> Any:
    """Return true or false for a share that a boolean criterion reads; other values are unchanged."""
    is_share = is_share_and_boolean(entry) and is_boolean_criterion(criterion) and is_finite_number(value)
    return value == 1 if is_share else value


class ValueProblem(NamedTuple):
    """Reason why a criterion cannot use a value."""

    code: str
    message: str


def find_value_problem(criterion: SuccessCriterion, value: Any, entry: MetricEntry) -> ValueProblem | None:
    """Return a problem if the metric's type or its catalogue entry rules the value out, else None."""
    if is_boolean_criterion(criterion):
        return None if isinstance(value, bool) else ValueProblem("not_a_boolean", "expected true or false")
    if not is_finite_number(value):
        return ValueProblem("not_a_number", "expected a finite number")
    if criterion.metric_type is MetricType.COUNT and not is_integral_number(value):
        return ValueProblem("out_of_range", "expected a whole number")
    for bounds in (_TYPE_BOUNDS.get(criterion.metric_type, (None, None)), entry.range):
        if not is_within(value, bounds):
            return ValueProblem("out_of_range", f"{value} is not {_describe_bounds(bounds)}")
    return None


def is_within(value: float, bounds: Bounds) -> bool:
    """Return True if the number is between the bounds, both included; None leaves an end open."""
    low, high = bounds
    return (low is None or value >= low) and (high is None or value <= high)


def _describe_bounds(bounds: Bounds) -> str:
    low, high = bounds
    if low is not None and high is not None:
        return f"from {low:g} to {high:g}"
    return f"{low:g} or more" if low is not None else f"{high:g} or less"


def is_met(criterion: SuccessCriterion, value: bool | float) -> bool:
    """Return True if a valid value meets the criterion (see `find_value_problem`)."""
    threshold = criterion.threshold
    match criterion.comparison:
        case ComparisonOperator.CONTAINS_ALL:
            return value == 1
        case ComparisonOperator.CONTAINS_ANY:
            return value > 0
        case ComparisonOperator.IN_RANGE:
            low, high = (to_fraction_if_percent(criterion, threshold.get(end)) for end in ("min", "max"))
            return is_within(value, (low, high))
    if isinstance(threshold, Mapping):  # a JSON Schema: conformance is true or false
        threshold = True
    bound = threshold if isinstance(threshold, bool) else to_fraction_if_percent(criterion, threshold)
    if criterion.comparison in _ORDERS:
        return _ORDERS[criterion.comparison](value, bound)
    is_exact = is_boolean_criterion(criterion) or criterion.metric_type is MetricType.COUNT
    is_equal = value == bound if is_exact else math.fabs(value - bound) < EQUALITY_TOLERANCE
    return is_equal is (criterion.comparison is not ComparisonOperator.NEQ)


def to_fraction_if_percent(criterion: SuccessCriterion, number: Any) -> Any:
    """Return a threshold, a range's end or a custom value divided by 100 if its criterion is in percent.

    A percentage criterion is in percent (90 instead of 0.9) if its `scale` says so, or without a scale if its threshold
    is above 1. Other numbers, and None, are returned unchanged.
    """
    if number is None or criterion.metric_type is not MetricType.PERCENTAGE:
        return number
    threshold = criterion.threshold
    ends = threshold.values() if isinstance(threshold, Mapping) else [threshold]
    is_percent = any(end > 1 for end in ends) if criterion.scale is None else criterion.scale is Scale.PERCENT
    return number / 100 if is_percent else number


def evaluate_criterion(
    criterion: SuccessCriterion, reading: Reading, entry: MetricEntry, *, position: int, required: bool, secret: bool
) -> CriterionResult:
    """Compare a reading with the criterion at `position`; with an error the criterion is unmet.

    `required`, `secret`: copied to the result; a reading that is secret makes the result secret too.
    """
    value = to_fraction_if_custom_percent(criterion, reading.value)
    error = _error(criterion, reading, value, entry)
    return CriterionResult(
        metric=criterion.metric,
        metric_type=criterion.metric_type,
        value=None if error else value,
        criterion=position,
        threshold=criterion.threshold,
        comparison=criterion.comparison,
        met=error is None and is_met(criterion, value),
        required=required,
        weight=criterion.weight,
        bonus=criterion.bonus,
        penalty=criterion.penalty,
        error=error,
        provenance=reading.provenance or entry.provenance,
        secret=secret or reading.secret,
    )


def _error(criterion: SuccessCriterion, reading: Reading, value: Any, entry: MetricEntry) -> CriterionError | None:
    if reading.error is not None:
        return reading.error
    if value is None:  # the platform's fault where it alone measures the metric
        fault = Fault.PLATFORM if entry.provenance is Provenance.MEASURED else Fault.AGENT
        return CriterionError(code=METRIC_MISSING, message=f"{entry.name} is missing", fault=fault)
    problem = find_value_problem(criterion, value, entry)
    if problem is None:
        return None
    if is_custom_metric(criterion.metric):  # the consumer's code computed it: not the agent's fault
        return CriterionError(
            code=CUSTOM_METRIC_FAILED, message=f"{problem.code}: {problem.message}", fault=Fault.PLATFORM
        )
    return CriterionError(code=problem.code, message=problem.message)
