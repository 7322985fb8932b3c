"""Comparisons that each metric type allows, and the thresholds that fit them (spec file 2)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from aex_models.canonical import find_json_problem
from aex_models.numbers import is_finite_number, is_integral_number

Threshold = bool | int | float | dict[str, Any] | list[str]
"""A number, boolean, `{min, max}`, list of terms or JSON Schema, depending on the comparison."""


class MetricType(StrEnum):
    """The kind of a metric's value."""

    NUMERIC = "numeric"
    """A finite number."""
    PERCENTAGE = "percentage"
    """A share, with a threshold as a fraction (0.9) or in percent (90); `scale` says which."""
    LATENCY = "latency"
    """A duration in milliseconds, 0 or more."""
    COUNT = "count"
    """A whole number, 0 or more, compared exactly."""
    ACCURACY = "accuracy"
    """A share of right answers, from 0 to 1."""
    BLEU_SCORE = "bleu_score"
    """A BLEU score from 0 to 1."""
    ROUGE_SCORE = "rouge_score"
    """A ROUGE F-measure from 0 to 1."""
    F1_SCORE = "f1_score"
    """An F1 score from 0 to 1."""
    BOOLEAN = "boolean"
    """True or false."""
    CONTAINS = "contains"
    """The share of required terms found, from 0 to 1, or a list of terms as the threshold."""
    MATCHES_SCHEMA = "matches_schema"
    """True or false, or a JSON Schema as the threshold."""
    CUSTOM = "custom"
    """The number or boolean that a work's own code returns."""


class ComparisonOperator(StrEnum):
    """The comparison of a metric's value with the threshold."""

    GTE = "gte"
    """Met by a value of at least the threshold."""
    GT = "gt"
    """Met by a value above the threshold."""
    LTE = "lte"
    """Met by a value of at most the threshold."""
    LT = "lt"
    """Met by a value below the threshold."""
    EQ = "eq"
    """Met by the threshold itself; numbers other than counts may differ by less than 1e-4."""
    NEQ = "neq"
    """Met by every value that `eq` does not accept."""
    IN_RANGE = "in_range"
    """Met by a value from `min` to `max`, both included; one of the two may be absent."""
    CONTAINS_ALL = "contains_all"
    """Met by a text with every term of the threshold."""
    CONTAINS_ANY = "contains_any"
    """Met by a text with at least one term of the threshold."""


_ORDERED = frozenset({"gte", "gt", "lte", "lt", "eq", "neq", "in_range"})
_EQUALITY = frozenset({"eq", "neq"})
_TERMS = frozenset({"contains_all", "contains_any"})

COMPARISONS: Mapping[MetricType, frozenset[str]] = {
    **dict.fromkeys(MetricType, _ORDERED),
    MetricType.BOOLEAN: _EQUALITY,
    MetricType.MATCHES_SCHEMA: _EQUALITY,
    MetricType.CONTAINS: _ORDERED | _TERMS,
}
"""The comparisons that each metric type allows."""

UNIT_TYPES = frozenset(map(MetricType, ("accuracy", "bleu_score", "rouge_score", "f1_score", "contains")))
"""Types whose values and thresholds lie in [0, 1]."""

MAX_TERMS = 200
MAX_TERM_LENGTH = 500


def find_threshold_problem(metric_type: MetricType, comparison: ComparisonOperator, threshold: Any) -> str | None:
    """Return why `threshold` does not fit the metric type and the comparison; None if it fits.

    The metric type has to allow the comparison.
    """
    if comparison in _TERMS:
        return _terms_problem(threshold)
    if metric_type is MetricType.MATCHES_SCHEMA:
        is_schema = isinstance(threshold, bool | dict)
        return _json_problem(threshold) if is_schema else "expected true, false or a JSON Schema object"
    if metric_type is MetricType.BOOLEAN:
        return None if isinstance(threshold, bool) else "expected true or false"
    if comparison is ComparisonOperator.IN_RANGE:
        return _range_problem(metric_type, threshold)
    if metric_type is MetricType.CUSTOM and comparison in _EQUALITY and isinstance(threshold, bool):
        return None
    return _number_problem(metric_type, threshold)


def _json_problem(threshold: Any) -> str | None:
    found = find_json_problem(threshold)
    return ": ".join(part for part in found if part) if found else None


def _terms_problem(threshold: Any) -> str | None:
    if not isinstance(threshold, list | tuple) or not threshold:
        return "expected a list of one or more terms"
    if len(threshold) > MAX_TERMS:
        return f"at most {MAX_TERMS} terms"
    if any(not isinstance(t, str) or not t.strip() or len(t) > MAX_TERM_LENGTH for t in threshold):
        return f"each term must be a string that is not blank, of at most {MAX_TERM_LENGTH} characters"
    return _json_problem(threshold)  # lone surrogates, which no text has


def _range_problem(metric_type: MetricType, threshold: Any) -> str | None:
    if not isinstance(threshold, dict) or not threshold or set(threshold) - {"min", "max"}:
        return "expected {min, max}, at least one of the two"
    for end, bound in threshold.items():
        if problem := _number_problem(metric_type, bound):
            return f"{end}: {problem}"
    if "min" in threshold and "max" in threshold and threshold["min"] > threshold["max"]:
        return "min must not exceed max"
    return None


def _number_problem(metric_type: MetricType, bound: Any) -> str | None:
    if not is_finite_number(bound):
        return "expected a finite number"
    if metric_type in UNIT_TYPES:
        return None if 0 <= bound <= 1 else "expected a number from 0 to 1"
    if metric_type is MetricType.PERCENTAGE:
        return None if 0 <= bound <= 100 else "expected a fraction from 0 to 1, or a percentage up to 100"
    if metric_type is MetricType.LATENCY:
        return None if bound >= 0 else "expected milliseconds, 0 or more"
    if metric_type is MetricType.COUNT:
        return None if is_integral_number(bound) and bound >= 0 else "expected a whole number, 0 or more"
    return None
