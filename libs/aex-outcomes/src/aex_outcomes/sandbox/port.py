"""The port of sandboxes: limits, context, result and faults of untrusted Python."""

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
"""The code of a criterion's error when no code could be run."""

MAX_DEPTH = 128
"""Nesting of the text that code gets. The interpreter reads over 150 levels, services accept 64."""

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
    """The limits of one run of custom code.

    `timeout_ms` counts the code's own execution, its module level included; `memory_mb` is the heap of its interpreter.
    """

    timeout_ms: int = 5_000
    memory_mb: int = 256
    code_bytes: int = MAX_CODE_BYTES
    result_bytes: int = 65_536
    stdout_bytes: int = 65_536
    max_metrics: int = 64


@dataclass(frozen=True, slots=True)
class Context:
    """The three arguments of `evaluate`: JSON values."""

    input: Mapping[str, Any]
    output: Any
    metadata: Mapping[str, Any]

    def as_json(self) -> str:
        """Return a JSON list of the three. Lone surrogates become U+FFFD, since UTF-8 does not hold them.

        Raises `ContextNotJson`, also for nesting that the interpreter could not read: a later fault would be ambiguous.
        """
        try:
            text = json.dumps([self.input, self.output, self.metadata], ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ContextNotJson(f"not JSON, or nested too deeply ({type(error).__name__})") from None
        if _depth(text) > MAX_DEPTH:
            raise ContextNotJson(f"nested too deeply: over {MAX_DEPTH - 1} levels")
        return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _depth(text: str) -> int:
    """Return the nesting depth of JSON text, or an upper bound on a small one."""
    opened = text.count("[") + text.count("{")
    if opened <= MAX_DEPTH:
        return opened
    return max(accumulate(map(_STEPS.__getitem__, _OTHERS.sub("", _STRINGS.sub("", text)))))


Number = bool | float | int
"""A boolean or a finite number; an integer is one that a double holds exactly."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The result of `evaluate`: one number as `value`, or else the entries of a dict as `metrics`."""

    value: Number | None
    metrics: Mapping[str, Number]


class FaultKind(StrEnum):
    """The kinds of faults."""

    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    BAD_RESULT = "bad_result"
    TOO_MUCH_OUTPUT = "too_much_output"
    SYNTAX = "syntax"


class CodeFault(Exception):
    """A fault of the code's author. `message` may quote evaluation data; `line` is the code's own."""

    def __init__(self, kind: FaultKind, message: str, line: int | None = None) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.line = line


class SandboxUnavailable(Exception):
    """A sandbox that cannot run code now: the platform's fault. The message quotes no data."""


class ContextNotJson(ValueError):
    """Input that is no JSON or nested too deeply, which no service would accept."""


class Sandbox(Protocol):
    """Runs untrusted code that defines `evaluate(input, output, metadata)`."""

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        """Run the code in a fresh namespace. Raises `CodeFault`, `SandboxUnavailable`, `ContextNotJson`."""
        ...


def validate_result(value: Any, limits: Limits) -> Returned:
    """Read the number or the metrics that code returned. Raises `CodeFault` for any other value.

    Only two levels are read: the value may be cyclic or vast. No method of a foreign type is called.
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
