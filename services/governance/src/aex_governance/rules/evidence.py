"""Truncation of requests, decisions and JSON values to the size limits of a stored document."""

import math
from collections.abc import Mapping
from typing import Any

from aex_governance.text.normalization import is_hidden
from aex_models.canonical import find_json_problem
from aex_models.governance import ScienceFindings, ValidationDecision, ValidationRequest
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest

MAX_ENTRIES = 60
MAX_TEXT = 500
MAX_DEPTH = 6
MAX_PARTS = 600
MAX_METRICS = 200
MAX_NAME = 200
MAX_ATTEMPTS = 20
MAX_REASON = 300
LEFT_OUT = "left_out"
"""Key under which a truncated value holds the number of parts that were removed."""
_Number = bool | float | int


def truncate_request_for_log(request: ValidationRequest) -> ValidationRequest:
    """Return the request without its texts, and with everything else truncated to the limits."""
    science = request.science
    return request.model_copy(
        update={
            "domain": request.domain[:MAX_NAME],
            "output_text": None,
            "other_text": None,
            "extracted_metrics": _storable_metrics(request.extracted_metrics),
            "claimed_metrics": {
                name: value for name, value in _storable_metrics(request.claimed_metrics).items() if value is not None
            },
            "science": None if science is None else _bounded_science(science),
            "execution_metadata": truncate_json_value(request.execution_metadata),
            "previous_attempts": tuple(
                each.model_copy(update={"metrics": _storable_metrics(each.metrics)})
                for each in request.previous_attempts[-MAX_ATTEMPTS:]
            ),
        }
    )


def truncate_decision(decision: ValidationDecision) -> ValidationDecision:
    """Return the decision with the messages and evidence of its flags truncated."""
    flags = (
        flag.model_copy(update={"message": flag.message[:MAX_TEXT], "evidence": truncate_json_value(flag.evidence)})
        for flag in decision.flags
    )
    return decision.model_copy(update={"flags": tuple(flags)})


def truncate_json_value(value: Any) -> Any:
    """Return a JSON value truncated in its number of parts, its depth, and the length of its texts.

    The limits are `MAX_PARTS`, `MAX_DEPTH` and `MAX_TEXT`. Where parts were removed, `left_out` holds their number.
    Keys of mappings are sorted.
    """
    return _ValueBounds().apply(value, MAX_DEPTH)


class _ValueBounds:
    """Truncation of one JSON value with a limit on its total number of parts."""

    def __init__(self) -> None:
        self._parts = MAX_PARTS

    def apply(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…"
        if not isinstance(value, Mapping | list | tuple):
            return value if find_json_problem(value) is None else str(value)[:MAX_TEXT]
        limit = 0 if depth == 0 else min(MAX_ENTRIES, self._parts)
        self._parts -= min(limit, len(value))
        left_out = len(value) - limit
        if isinstance(value, Mapping):
            named = {str(key)[:MAX_NAME]: self.apply(item, depth - 1) for key, item in sorted(value.items())[:limit]}
            return {**named, LEFT_OUT: left_out} if left_out > 0 else named
        items = [self.apply(item, depth - 1) for item in value[:limit]]
        return [*items, {LEFT_OUT: left_out}] if left_out > 0 else items


def _bounded_science(science: ScienceFindings) -> ScienceFindings:
    mismatches = [each for each in truncate_json_value(science.mismatches) if isinstance(each, dict)]
    return ScienceFindings(mismatches=tuple(mismatches), violations=tuple(truncate_json_value(science.violations)))


def _storable_metrics(metrics: Mapping[str, _Number | None]) -> dict[str, _Number | None]:
    """Return the first `MAX_METRICS` metrics by name; the sender's order does not matter."""
    names = sorted(name for name in metrics if len(name) <= MAX_NAME)[:MAX_METRICS]
    return {name: _storable_number(metrics[name]) for name in names}


def _storable_number(value: _Number | None) -> _Number | None:
    if value is None or isinstance(value, bool) or find_json_problem(value) is None:
        return value
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def require_valid_reason(reason: str) -> str:
    """Return the reason without surrounding whitespace.

    Raises `InvalidRequest` if it is blank or too long.
    """
    tidied = reason.strip()
    if all(each.isspace() or is_hidden(each) for each in tidied):
        raise _invalid_reason("blank_reason", "say in a few words why you decide so: the reason stays on record")
    if len(tidied) > MAX_REASON:
        raise _invalid_reason(
            "reason_too_long", f"a reason has at most {MAX_REASON} characters, this one {len(tidied)}"
        )
    return tidied


def _invalid_reason(code: str, message: str) -> InvalidRequest:
    return InvalidRequest(code, message, [Problem(path="/reason", code=code, message=message)])
