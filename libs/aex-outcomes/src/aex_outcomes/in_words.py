"""Thresholds, ranges and values in words: for feedback, warnings and reports."""

from collections.abc import Mapping
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_models.numbers import is_number, text_of
from aex_models.results import CriterionResult

_MAX_DETAIL = 300
_SMALL = 1e-3
"""Below this six decimals would tell two p-values apart no longer."""
_NEEDS = {"gte": "at least", "gt": "more than", "lte": "at most", "lt": "less than", "eq": "", "neq": "anything but"}


def needed(criterion: SuccessCriterion | CriterionResult) -> str:
    """A criterion's threshold in words: `at least 0.4`, `100 to 500`, `all of: alpha, beta`."""
    threshold, comparison = criterion.threshold, criterion.comparison.value
    if comparison in {"contains_all", "contains_any"}:
        quantity = "all" if comparison == "contains_all" else "any"
        return f"{quantity} of: {short(', '.join(threshold))}"
    if comparison == "in_range":
        return bounds(threshold)
    if isinstance(threshold, Mapping):
        return "to match the criterion's schema" if comparison == "eq" else "not to match the criterion's schema"
    return f"{_NEEDS[comparison]} {written(threshold)}".strip()


def bounds(threshold: Mapping[str, Any]) -> str:
    """A range with one end or both: `at least 3`, `100 to 500`."""
    if "min" not in threshold:
        return f"at most {written(threshold['max'])}"
    if "max" not in threshold:
        return f"at least {written(threshold['min'])}"
    return f"{written(threshold['min'])} to {written(threshold['max'])}"


def written(value: Any) -> str:
    """A value: numbers with at most six decimals, small ones with six digits."""
    if isinstance(value, bool):
        return str(value).lower()
    if not is_number(value):
        return short(str(value))
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return text_of(round(value, 6) if abs(value) >= _SMALL else float(f"{value:.6g}"))


def short(text: str) -> str:
    """The beginning of what is long."""
    return text if len(text) <= _MAX_DETAIL else f"{text[:_MAX_DETAIL]}…"
