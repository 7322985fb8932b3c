"""What a sandbox is: untrusted Python in, numbers out, and whose fault it is when none come."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any, Protocol

MAX_CODE_BYTES = 262_144
SANDBOX_UNAVAILABLE = "sandbox_unavailable"
"""The code of a criterion's error where no code could be run."""

MAX_DEPTH = 128
"""Lists and objects within each other in the text that code is given. The interpreter takes over 150, services 64."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_OTHERS = re.compile(r"[^][{}]+")
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run of custom code may use.

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
        """A JSON list of the three. Lone surrogates become U+FFFD: no UTF-8 holds them.

        Raises `NotJson`, also where the interpreter could not read it: later nobody could tell whose fault that was.
        """
        try:
            text = json.dumps([self.input, self.output, self.metadata], ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise NotJson(f"not JSON, or nested too deeply ({type(error).__name__})") from None
        if _depth(text) > MAX_DEPTH:
            raise NotJson(f"nested too deeply: over {MAX_DEPTH - 1} levels")
        return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _depth(text: str) -> int:
    """How deep JSON text is nested, or an upper bound on it where that is small."""
    opened = text.count("[") + text.count("{")
    if opened <= MAX_DEPTH:
        return opened
    return max(accumulate(map(_STEPS.__getitem__, _OTHERS.sub("", _STRINGS.sub("", text)))))


Number = bool | float | int
"""A boolean or a finite number; an integer is one that a double holds exactly."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What `evaluate` returned: one number as `value`, or else the entries of a dict as `metrics`."""

    value: Number | None
    metrics: Mapping[str, Number]


class FaultKind(StrEnum):
    """How code can fail."""

    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    BAD_RESULT = "bad_result"
    TOO_MUCH_OUTPUT = "too_much_output"
    SYNTAX = "syntax"


class CodeFault(Exception):
    """The code itself failed: its author's doing. `message` may quote evaluation data; `line` is the code's own."""

    def __init__(self, kind: FaultKind, message: str, line: int | None = None) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.line = line


class SandboxUnavailable(Exception):
    """No code can be run here now: the platform's doing. The message says why, and quotes no data."""


class NotJson(ValueError):
    """What the code was to be given is no JSON, or nested too deeply: no service would have taken it."""


class Sandbox(Protocol):
    """Runs untrusted code that defines `evaluate(input, output, metadata)`."""

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        """Run the code once, call its `evaluate` once, and return what that returned. Nothing survives the run.

        Raises `CodeFault`, `SandboxUnavailable`, `NotJson`.
        """
        ...
