"""Sandbox on pydantic-monty, an interpreter of a Python subset without access to the host.

It runs only in a confined worker, so that code that escapes it is still in a process without network and rights.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from aex_outcomes.sandbox.faults import Crashed, PrintedOutput, classify_client_error
from aex_outcomes.sandbox.interpreter import BUSY_S, Interpreter, find_script_folders, limit_memory_while_reading
from aex_outcomes.sandbox.port import (
    CodeFault,
    Context,
    FaultKind,
    Limits,
    Returned,
    SandboxUnavailable,
    validate_result,
)

if TYPE_CHECKING:
    from pydantic_monty import OSPolicy, ResourceLimits

_SUFFIX = "\nimport json as __json\nevaluate(*__json.loads(__context))"
"""Code that calls `evaluate`. It parses the JSON within the sandbox, which is faster than passing objects."""

_COPIES = 10
"""Bytes of memory for each passed character: it is encoded, wrapped and sent, up to four bytes each time."""

_RECURSION = 1_000
_KNOWN_GOOD, _NO_CONTEXT = "def evaluate(input, output, metadata): return 1", "[{}, {}, {}]"
_HARMLESS = frozenset({FaultKind.EXCEPTION, FaultKind.BAD_RESULT, FaultKind.SYNTAX})
"""Faults after which the interpreter stays usable. After another one, which stops it at a limit, it is replaced."""


class MontySandbox:
    """Sandbox with one interpreter process, which is replaced when a limit has stopped it.

    Each run has an empty namespace, a fixed clock, a seeded `random`, and sleeps that take no time.
    """

    def __init__(self, folders: Sequence[Path] | None = None, busy_s: float = BUSY_S) -> None:
        """Keep the folders with the program `monty`, by default those of this environment's programs.

        `busy_s`: seconds in runs after which an interpreter is replaced; at most half of its limit of processor time.
        """
        self._folders = tuple(folders or find_script_folders())
        self._busy_s = busy_s
        self._interpreter: Interpreter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the interpreter process; a later run starts another one."""
        interpreter, self._interpreter = self._interpreter, None
        if interpreter is not None:
            interpreter.close()

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        """Run the code; see `Sandbox.execute`. Blocks the event loop, because a worker has one job at a time."""
        return self.run(code, context.as_json(), limits)

    def run(self, code: str, context_json: str, limits: Limits) -> Returned:
        """Run the code with the arguments of `Context.as_json`; retry once after a crash of the interpreter.

        Raises `CodeFault`. After a second crash raises `CodeFault` if harmless code runs, else `SandboxUnavailable`.
        """
        size = len(code.encode("utf-8", "replace"))
        if size > limits.code_bytes:
            raise CodeFault(FaultKind.SYNTAX, f"the code has {size} bytes; the limit is {limits.code_bytes}")
        crash = ""
        for _ in range(2):
            try:
                return self._attempt(code, context_json, limits)
            except Crashed as error:
                crash = str(error)
        try:
            self._attempt(_KNOWN_GOOD, _NO_CONTEXT, Limits())  # a fresh interpreter
        except (Crashed, CodeFault) as error:
            raise SandboxUnavailable(f"the interpreter fails whatever it runs: {type(error).__name__}") from None
        raise CodeFault(FaultKind.MEMORY, f"the interpreter crashed, twice: {crash}")

    def _attempt(self, code: str, context: str, limits: Limits) -> Returned:
        interpreter = self._ready_interpreter(limits)
        output = PrintedOutput(limits.stdout_bytes, interpreter.kill)
        try:
            return validate_result(_run_session(interpreter, code, context, limits, output), limits)
        except BaseException as error:  # noqa: BLE001 the client's panics are no Exceptions
            fault = _classify(error, code, output, limits)
            if getattr(fault, "kind", None) not in _HARMLESS:
                self.close()
            raise fault from None

    def _ready_interpreter(self, limits: Limits) -> Interpreter:
        timeout_s = limits.timeout_ms / 1000
        found = self._interpreter
        if found is not None and not found.is_due_for_replacement and found.timeout_s == timeout_s:
            return found
        self.close()
        self._interpreter = Interpreter(self._folders, timeout_s, self._busy_s)
        return self._interpreter


def _run_session(interpreter: Interpreter, code: str, context: str, limits: Limits, output: PrintedOutput) -> Any:
    bounds: ResourceLimits = {
        "max_feed_duration_secs": limits.timeout_ms / 1000,
        "max_memory": limits.memory_mb << 20,
        "max_recursion_depth": _RECURSION,
        "max_suspensions": 1,
    }
    with (
        interpreter.open_session(bounds, _policy()) as session,
        limit_memory_while_reading(_COPIES * (len(code) + len(context))),
    ):
        return session.feed_run(code + _SUFFIX, inputs={"__context": context}, print_callback=output)


def _policy() -> "OSPolicy":
    """Return the interpreter's policy for time and randomness, by which equal candidates get equal values."""
    return {
        "datetime": datetime(2026, 1, 1, tzinfo=UTC),
        "timezone": "utc",
        "sleep": "zero",
        "random_start": {"seed": 0},
    }


def _classify(error: BaseException, code: str, output: PrintedOutput, limits: Limits) -> BaseException:
    """Convert an exception during a run to a `CodeFault`, `Crashed` or `SandboxUnavailable`."""
    if output.is_exceeded:
        return CodeFault(FaultKind.TOO_MUCH_OUTPUT, f"more than {limits.stdout_bytes} bytes were printed")
    fault = error if isinstance(error, CodeFault | Crashed) else classify_client_error(error, code)
    if fault is not None or not isinstance(error, Exception):
        return fault or error
    return SandboxUnavailable(f"the interpreter's client failed: {type(error).__name__}")
