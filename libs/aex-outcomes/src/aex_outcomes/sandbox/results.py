"""What custom code returned, read as what it may be: hostile."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from aex_outcomes.sandbox.port import CodeFault, FaultKind, Limits, Number, Returned

_KEY = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_MAX_INTEGER = 2**53 - 1
_SHOWN = 40
_SHAPES = 'a number, true or false, a dict of them, or {"metrics": {...}}'


def read_result(found: Any, limits: Limits) -> Returned:
    """The number or the metrics that code returned. Raises `CodeFault` (bad_result) for anything else.

    Nothing is looked at below the second level, and no method of what is no built-in type is called: what comes back
    may contain itself, or ten billion references to one list.
    """
    if type(found) is dict:
        entries = found["metrics"] if found.keys() == {"metrics"} and type(found["metrics"]) is dict else found
        return Returned(None, _metrics(entries, limits))
    return Returned(_number(found, "what evaluate returned"), {})


def _metrics(entries: Mapping[Any, Any], limits: Limits) -> dict[str, Number]:
    if len(entries) > limits.max_metrics:
        raise _bad(f"{len(entries)} metrics; at most {limits.max_metrics} are taken")
    metrics: dict[str, Number] = {}
    for key, value in entries.items():
        if type(key) is not str or not _KEY.fullmatch(key):
            raise _bad(f"the key {_shown(key)} is not 1 to 128 letters, digits, dots, dashes and underscores")
        metrics[key] = _number(value, f"the entry {key}")
    size = len(json.dumps(metrics))
    if size > limits.result_bytes:
        raise _bad(f"{size} bytes; at most {limits.result_bytes} are taken")
    return metrics


def _number(value: Any, what: str) -> Number:
    if type(value) is bool:
        return value
    if type(value) is int:
        if abs(value) > _MAX_INTEGER:
            raise _bad(f"{what} is an integer beyond ±(2^53 - 1); return a float")
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise _bad(f"{what} is not finite")
        return value
    raise _bad(f"{what} is of the type {type(value).__name__[:_SHOWN]}; taken are {_SHAPES}")


def _bad(message: str) -> CodeFault:
    return CodeFault(FaultKind.BAD_RESULT, message)


def _shown(key: Any) -> str:
    return repr(key[:_SHOWN]) if type(key) is str else f"of the type {type(key).__name__[:_SHOWN]}"
