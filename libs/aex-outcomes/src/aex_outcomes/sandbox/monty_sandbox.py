"""The sandbox's engine: pydantic-monty, an interpreter of a Python subset that has nothing to reach a host with.

For use within a confined worker alone: what got out of the interpreter would still be in a process without network,
without rights and without memory to spare.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from aex_outcomes.sandbox.faults import Crashed, Output, fault_of
from aex_outcomes.sandbox.interpreter import BUSY_S, Interpreter, own_folders
from aex_outcomes.sandbox.memory import reading_budget
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, Returned, SandboxUnavailable
from aex_outcomes.sandbox.results import read_result

if TYPE_CHECKING:
    from pydantic_monty import OSPolicy, ResourceLimits

_TAIL = "\nimport json as __json\nevaluate(*__json.loads(__context))"
"""JSON is read in the sandbox: many times faster than handing objects over, and counted against the code's limits."""

_COPIES = 10
"""Bytes for each character that is handed over: it is encoded, wrapped and sent, up to four bytes each time."""

_RECURSION = 1_000
_KNOWN_GOOD, _NO_CONTEXT = "def evaluate(input, output, metadata): return 1", "[{}, {}, {}]"
_EXCEPTIONS_ALONE = frozenset({FaultKind.EXCEPTION, FaultKind.BAD_RESULT, FaultKind.SYNTAX})
"""Faults after which the interpreter is whole. Limits stop it amid an operation, so that another takes its place."""


class MontySandbox:
    """Runs code in an interpreter process, a child of this one, which is replaced whenever a limit stopped it.

    Each run has a session of its own: an empty namespace, a fixed clock, a seeded `random`, sleeps that take no time.
    """

    def __init__(self, folders: Sequence[Path] | None = None, busy_s: float = BUSY_S) -> None:
        """`folders`: where the program `monty` is looked for; unless given, where this environment has its scripts.
        `busy_s`: after so much time in runs an interpreter is replaced; at most half of what it may use in all."""
        self._folders = tuple(folders or own_folders())
        self._busy_s = busy_s
        self._interpreter: Interpreter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the interpreter; a further run starts another."""
        interpreter, self._interpreter = self._interpreter, None
        if interpreter is not None:
            interpreter.close()

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        """See `Sandbox`. Blocks the thread: a confined worker does one thing at a time."""
        return self.run(code, context.as_json(), limits)

    def run(self, code: str, context: str, limits: Limits) -> Returned:
        """The same over a context that `Context.as_json` wrote. What crashes the interpreter is tried once more."""
        size = len(code.encode("utf-8", "replace"))
        if size > limits.code_bytes:
            raise CodeFault(FaultKind.SYNTAX, f"the code has {size} bytes; at most {limits.code_bytes} are taken")
        try:
            return self._attempt(code, context, limits)
        except Crashed:
            pass
        try:
            return self._attempt(code, context, limits)
        except Crashed as error:
            crash = str(error)
        self._prove()
        raise CodeFault(FaultKind.MEMORY, f"the interpreter crashed, twice: {crash}")

    def _prove(self) -> None:
        """Whether a fresh interpreter runs what is known to be good. Raises `SandboxUnavailable` where it does not."""
        try:
            self._attempt(_KNOWN_GOOD, _NO_CONTEXT, Limits())
        except (Crashed, CodeFault) as error:
            raise SandboxUnavailable(f"the interpreter fails whatever it runs: {type(error).__name__}") from None

    def _attempt(self, code: str, context: str, limits: Limits) -> Returned:
        interpreter = self._ready(limits)
        output = Output(limits.stdout_bytes, interpreter.kill)
        try:
            return read_result(_fed(interpreter, code, context, limits, output), limits)
        except BaseException as error:  # noqa: BLE001 the client panics with what is no Exception
            fault = _judged(error, code, output, limits)
            if getattr(fault, "kind", None) not in _EXCEPTIONS_ALONE:
                self.close()
            raise fault from None

    def _ready(self, limits: Limits) -> Interpreter:
        timeout_s = limits.timeout_ms / 1000
        found = self._interpreter
        if found is not None and not found.worn and found.timeout_s == timeout_s:
            return found
        self.close()
        self._interpreter = Interpreter(self._folders, timeout_s, self._busy_s)
        return self._interpreter


def _fed(interpreter: Interpreter, code: str, context: str, limits: Limits, output: Output) -> Any:
    bounds: ResourceLimits = {
        "max_feed_duration_secs": limits.timeout_ms / 1000,
        "max_memory": limits.memory_mb << 20,
        "max_recursion_depth": _RECURSION,
        "max_suspensions": 1,
    }
    with (
        interpreter.session(bounds, _policy()) as session,
        reading_budget(_COPIES * (len(code) + len(context))),
    ):
        return session.feed_run(code + _TAIL, inputs={"__context": context}, print_callback=output)


def _policy() -> "OSPolicy":
    """The same candidate gets the same values, whenever it is judged."""
    return {
        "datetime": datetime(2026, 1, 1, tzinfo=UTC),
        "timezone": "utc",
        "sleep": "zero",
        "random_start": {"seed": 0},
    }


def _judged(error: BaseException, code: str, output: Output, limits: Limits) -> BaseException:
    """What an exception of the client's means: the code's fault, a crash, or no sandbox here."""
    if output.over:
        return CodeFault(FaultKind.TOO_MUCH_OUTPUT, f"more than {limits.stdout_bytes} bytes were printed")
    fault = error if isinstance(error, CodeFault | Crashed) else fault_of(error, code)
    if fault is not None:
        return fault
    if not isinstance(error, Exception):
        return error
    return SandboxUnavailable(f"the interpreter's client failed: {type(error).__name__}")
