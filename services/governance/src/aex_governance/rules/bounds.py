"""Requests and flags cut to what a record may hold: a document has limits, and nobody reads megabytes of figures."""

import math
from collections.abc import Mapping
from typing import Any

from aex_models.canonical import json_problem
from aex_models.governance import Flag, ScienceFindings, ValidationDecision, ValidationRequest

MAX_ENTRIES = 60
MAX_TEXT = 500
MAX_DEPTH = 6
MAX_PARTS = 600
MAX_METRICS = 200
MAX_NAME = 200
MAX_ATTEMPTS = 20
LEFT_OUT = "left_out"
"""What stands for the parts that were cut away: their number."""
_Number = bool | float | int


def logged(request: ValidationRequest) -> ValidationRequest:
    """The request as the log keeps it: no texts, and of everything else a bounded part."""
    science = request.science
    return request.model_copy(
        update={
            "domain": request.domain[:MAX_NAME],
            "output_text": None,
            "other_text": None,
            "extracted_metrics": _metrics(request.extracted_metrics),
            "claimed_metrics": _claims(request.claimed_metrics),
            "science": None if science is None else _science(science),
            "execution_metadata": cut(request.execution_metadata),
            "previous_attempts": tuple(
                each.model_copy(update={"metrics": _metrics(each.metrics)})
                for each in request.previous_attempts[-MAX_ATTEMPTS:]
            ),
        }
    )


def bounded(decision: ValidationDecision) -> ValidationDecision:
    """The decision with its flags' evidence cut."""
    return decision.model_copy(update={"flags": tuple(map(_bounded_flag, decision.flags))})


def cut(value: Any) -> Any:
    """A JSON value with at most so many parts, levels and characters; what was left out is counted where it was.

    Names are in order, as they come back from the store: a decision reads the same the first time and every other.
    """
    return _Cutter().cut(value, MAX_DEPTH)


class _Cutter:
    """Counts what it lets through: a bound for each list bounds no list of lists."""

    def __init__(self) -> None:
        self._parts = MAX_PARTS

    def cut(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…"
        if not isinstance(value, Mapping | list | tuple):
            return value if json_problem(value) is None else str(value)[:MAX_TEXT]
        room = 0 if depth == 0 else min(MAX_ENTRIES, self._parts)
        self._parts -= min(room, len(value))
        left_out = len(value) - room
        if isinstance(value, Mapping):
            kept = {str(key)[:MAX_NAME]: self.cut(item, depth - 1) for key, item in sorted(value.items())[:room]}
            return {**kept, LEFT_OUT: left_out} if left_out > 0 else kept
        items = [self.cut(item, depth - 1) for item in value[:room]]
        return [*items, {LEFT_OUT: left_out}] if left_out > 0 else items


def _bounded_flag(flag: Flag) -> Flag:
    return flag.model_copy(update={"message": flag.message[:MAX_TEXT], "evidence": cut(flag.evidence)})


def _science(science: ScienceFindings) -> ScienceFindings:
    mismatches = [each for each in cut(science.mismatches) if isinstance(each, dict)]
    return ScienceFindings(mismatches=tuple(mismatches), violations=tuple(cut(science.violations)))


def _metrics(metrics: Mapping[str, _Number | None]) -> dict[str, _Number | None]:
    """Of too many those whose names come first: a choice by order would depend on the sender."""
    chosen = sorted(name for name in metrics if len(name) <= MAX_NAME)[:MAX_METRICS]
    return {name: _storable(metrics[name]) for name in chosen}


def _claims(metrics: Mapping[str, _Number]) -> dict[str, _Number]:
    return {name: value for name, value in _metrics(metrics).items() if value is not None}


def _storable(value: _Number | None) -> _Number | None:
    if value is None or isinstance(value, bool) or json_problem(value) is None:
        return value
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
