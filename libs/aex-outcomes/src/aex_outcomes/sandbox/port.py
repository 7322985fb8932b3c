"""Port of sandboxes for untrusted Python: limits, arguments, result and faults of a run."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any, Protocol

MAX_CODE_BYTES = 262_144
SANDBOX_UNAVAILABLE = "sandbox_unavailable"
"""Code of a criterion's error if no custom code could be run."""

MAX_DEPTH = 128
"""Maximum levels of nesting of the arguments. The interpreter reads over 150, and services accept 64."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_OTHERS = re.compile(r"[^][{}]+")
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_MAX_INTEGER = 2**53 - 1
_MAX_QUOTED = 40
_SHAPES = 'a number, true or false, a dict of them, or {"metrics": {...}}'
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run of custom code."""

    timeout_ms: int = 5_000
    """Milliseconds of the code's execution, including its module level."""
    memory_mb: int = 256
    """Megabytes of the interpreter's heap."""
    code_bytes: int = MAX_CODE_BYTES
    result_bytes: int = 65_536
    """Maximum bytes of the returned metrics as JSON."""
    stdout_bytes: int = 65_536
    """Maximum bytes that the code may print."""
    max_metrics: int = 64
    """Maximum entries of a returned dict."""


@dataclass(frozen=True, slots=True)
class Context:
    """Arguments of `evaluate` as JSON values."""

    input: Mapping[str, Any]
    output: Any
    metadata: Mapping[str, Any]

    def as_json(self) -> str:
        """Return the three arguments as a JSON list; lone surrogates, which UTF-8 cannot hold, become U+FFFD.

        Raises `ContextNotJson` if an argument is not JSON or is nested too deeply for the interpreter.
        """
        try:
            text = json.dumps([self.input, self.output, self.metadata], ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ContextNotJson(f"not JSON, or nested too deeply ({type(error).__name__})") from None
        if _depth(text) > MAX_DEPTH:
            raise ContextNotJson(f"nested too deeply: over {MAX_DEPTH - 1} levels")
        return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _depth(text: str) -> int:
    """Return the nesting depth of JSON text; a result up to `MAX_DEPTH` may be too high."""
    opened = text.count("[") + text.count("{")
    if opened <= MAX_DEPTH:
        return opened
    return max(accumulate(map(_STEPS.__getitem__, _OTHERS.sub("", _STRINGS.sub("", text)))))


Number = bool | float | int
"""Boolean or finite number; an integer must be exact as a double."""


@dataclass(frozen=True, slots=True)
class Returned:
    """Result of `evaluate`: one number as `value`, or `value` None and the entries of a dict as `metrics`."""

    value: Number | None
    metrics: Mapping[str, Number]


class FaultKind(StrEnum):
    """Kind of a fault of custom code."""

    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    BAD_RESULT = "bad_result"
    TOO_MUCH_OUTPUT = "too_much_output"
    SYNTAX = "syntax"


class CodeFault(Exception):
    """Fault of custom code. `message` may quote evaluation data; `line` is a line of the code, or None."""

    def __init__(self, kind: FaultKind, message: str, line: int | None = None) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.line = line


class SandboxUnavailable(Exception):
    """Error of a sandbox that cannot run code now, by the platform's fault; the message quotes no data."""


class ContextNotJson(ValueError):
    """Error for arguments that are not JSON or are nested too deeply."""


class Sandbox(Protocol):
    """Sandbox that runs untrusted code which defines `evaluate(input, output, metadata)`."""

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        """Run the code in a new namespace and return the result of `evaluate`.

        Raises `CodeFault`, `SandboxUnavailable` and `ContextNotJson`.
        """
        ...


def validate_result(value: Any, limits: Limits) -> Returned:
    """Check and convert the value that code returned. Raises `CodeFault` unless it has only numbers.

    Only two levels are read, because the value may be cyclic or very large. No method of a foreign type is called.
    """
    if type(value) is dict:
        entries = value["metrics"] if value.keys() == {"metrics"} and type(value["metrics"]) is dict else value
        return Returned(None, _metrics(entries, limits))
    return Returned(_require_number(value, "what evaluate returned"), {})


def _metrics(entries: Mapping[Any, Any], limits: Limits) -> dict[str, Number]:
    if len(entries) > limits.max_metrics:
        raise _bad_result(f"{len(entries)} metrics; the limit is {limits.max_metrics}")
    metrics: dict[str, Number] = {}
    for key, value in entries.items():
        if type(key) is not str or not _KEY.fullmatch(key):
            quoted = repr(key[:_MAX_QUOTED]) if type(key) is str else f"of the type {type(key).__name__[:_MAX_QUOTED]}"
            raise _bad_result(f"the key {quoted} is not 1 to 128 letters, digits, dots, dashes and underscores")
        metrics[key] = _require_number(value, f"the entry {key}")
    size = len(json.dumps(metrics))
    if size > limits.result_bytes:
        raise _bad_result(f"{size} bytes; the limit is {limits.result_bytes}")
    return metrics


def _require_number(value: Any, subject: str) -> Number:
    if type(value) not in {bool, int, float}:
        raise _bad_result(f"{subject} is of the type {type(value).__name__[:_MAX_QUOTED]}; expected {_SHAPES}")
    if type(value) is int and abs(value) > _MAX_INTEGER:
        raise _bad_result(f"{subject} is an integer beyond ±(2^53 - 1); return a float")
    if type(value) is float and not math.isfinite(value):
        raise _bad_result(f"{subject} is not finite")
    number: Number = value
    return number


def _bad_result(message: str) -> CodeFault:
    return CodeFault(FaultKind.BAD_RESULT, message)
