"""The sandbox's engine: pydantic-monty, an interpreter of a Python subset that has nothing to reach a host with.

For use within a confined worker alone: what got out of the interpreter would still be in a process without network,
without rights and without memory to spare.
"""

import sys
import sysconfig
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from aex_outcomes.confinement.lockdown import privileges_are_fixed
from aex_outcomes.sandbox.faults import Crashed, Output, fault_of
from aex_outcomes.sandbox.memory import orphan_budget, reading_budget
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, NotJson, Returned, SandboxUnavailable
from aex_outcomes.sandbox.results import read_result

if TYPE_CHECKING:
    from pydantic_monty import Monty, OSPolicy, ResourceLimits

GRACE_S = 0.25
"""What the interpreter has beyond its time to stop by itself, before it is killed."""

_TAIL = "\nimport json as __json\nevaluate(*__json.loads(__context))"
"""JSON is read in the sandbox: many times faster than handing objects over, and counted against the code's limits."""

_RUNS, _BUSY_S = 1_000, 120.0
"""After so many runs, or so much time in them, an interpreter is replaced by a fresh one."""

_COPIES = 10
"""Bytes for each character that is handed over: it is encoded, wrapped and sent, up to four bytes each time."""

_RECURSION = 1_000
_REQUEST_S = 5.0
_EXCEPTIONS_ALONE = frozenset({FaultKind.EXCEPTION, FaultKind.BAD_RESULT, FaultKind.SYNTAX})
"""Faults after which the interpreter is whole. Limits stop it amid an operation, so that another takes its place."""


class MontySandbox:
    """Runs code in an interpreter process, a child of this one, which is replaced whenever a limit stopped it.

    Each run has a session of its own: an empty namespace, a fixed clock, a seeded `random`, sleeps that take no time.
    """

    def __init__(self, folders: Sequence[Path] | None = None) -> None:
        """`folders`: where the program `monty` is looked for; unless given, where this environment has its scripts."""
        self._folders = tuple(folders or (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent))
        self._pool: Monty | None = None
        self._timeout_ms = 0
        self._runs = 0
        self._busy_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the interpreter; a further run starts another."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__(None, None, None)

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        """See `Sandbox`. Blocks the thread: a confined worker does one thing at a time."""
        return self.run(code, context.as_json(), limits)

    def run(self, code: str, context: str, limits: Limits) -> Returned:
        """The same over a context that is JSON text already. A crash of the interpreter is tried once more, afresh."""
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
            raise CodeFault(FaultKind.MEMORY, f"the interpreter crashed, twice: {error}") from None

    def _attempt(self, code: str, context: str, limits: Limits) -> Returned:
        pool = self._ready(limits)
        output = Output(limits.stdout_bytes)
        began = time.monotonic()
        try:
            returned = read_result(_fed(pool, code, context, limits, output), limits)
        except BaseException as error:  # noqa: BLE001 the client panics with what is no Exception
            fault = error if isinstance(error, CodeFault) else _judged(error, code, output, limits)
            if not isinstance(fault, NotJson) and getattr(fault, "kind", None) not in _EXCEPTIONS_ALONE:
                self.close()
            raise fault from None
        self._runs += 1
        self._busy_s += time.monotonic() - began
        return returned

    def _ready(self, limits: Limits) -> "Monty":
        worn = self._runs >= _RUNS or self._busy_s >= _BUSY_S
        if self._pool is None or worn or self._timeout_ms != limits.timeout_ms:
            self.close()
            self._pool = _started(self._folders, limits.timeout_ms / 1000)
            self._timeout_ms, self._runs, self._busy_s = limits.timeout_ms, 0, 0.0
        return self._pool


def _fed(pool: "Monty", code: str, context: str, limits: Limits, output: Output) -> Any:
    bounds: ResourceLimits = {
        "max_feed_duration_secs": limits.timeout_ms / 1000,
        "max_memory": limits.memory_mb << 20,
        "max_recursion_depth": _RECURSION,
        "max_suspensions": 1,
    }
    with (
        pool.checkout(limits=bounds, assert_message_annotations=False, os_policy=_policy()) as session,
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


def _started(folders: Sequence[Path], timeout_s: float) -> "Monty":
    """A new interpreter process. Raises `SandboxUnavailable`, saying what is missing."""
    if not privileges_are_fixed():
        raise SandboxUnavailable("custom code runs in confined workers alone, and this process is none")
    try:
        from pydantic_monty import Monty  # noqa: PLC0415 heavy, and not everywhere
    except ImportError as error:
        raise SandboxUnavailable(f"pydantic-monty is not installed: {error}") from None
    pool = Monty(
        binary_path=_program(folders),
        min_processes=1,
        max_processes=1,
        checkout_timeout=_REQUEST_S,
        request_timeout=timeout_s + _REQUEST_S,
        feed_duration_limit_grace=GRACE_S,
    )
    try:
        with orphan_budget(timeout_s):
            return pool.__enter__()
    except Exception as error:  # noqa: BLE001 whatever keeps it from starting, there is no sandbox
        raise SandboxUnavailable(f"the interpreter does not start: {type(error).__name__}: {error}") from None


def _program(folders: Sequence[Path]) -> Path:
    """The interpreter, from these folders alone: never one that happens to lie on some PATH."""
    for folder in folders:
        if (folder / "monty").is_file():
            return folder / "monty"
    where = " or ".join(str(folder) for folder in dict.fromkeys(folders))
    raise SandboxUnavailable(f"the program monty is not in {where}: install pydantic-monty-runtime")


def _judged(error: BaseException, code: str, output: Output, limits: Limits) -> BaseException:
    """What an exception of the client's means: the code's fault, a crash, or no sandbox here."""
    if output.over:
        return CodeFault(FaultKind.TOO_MUCH_OUTPUT, f"more than {limits.stdout_bytes} bytes were printed")
    fault = fault_of(error, code)
    if fault is not None:
        return fault
    if not isinstance(error, Exception):
        return error
    return SandboxUnavailable(f"the interpreter's client failed: {type(error).__name__}")
