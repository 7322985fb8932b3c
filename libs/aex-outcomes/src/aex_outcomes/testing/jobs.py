"""Jobs of a worker that runs hidden tests, its self-test, and a runner for few runs."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from aex_outcomes.confinement.seccomp import has_filters
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_outcomes.testing.results import HiddenTestResult, Outcome
from aex_outcomes.testing.runner import WorkerTestRunner

JOB = f"{__name__}:run_hidden_tests"
_GRACE_S = 30.0
"""Seconds added to the time of all tests for the start of the worker and its zygote."""
MEMORY_MB = 256
"""Megabytes of a worker beside the memory of a program."""
_MAX_RESULT_BYTES = 4 << 20


@lru_cache(maxsize=1)
def get_worker_test_runner() -> WorkerTestRunner:
    """Return this worker's runner, created on first use; its zygote keeps running between jobs."""
    return WorkerTestRunner()


def run_hidden_tests(payload: dict[str, Any]) -> dict[str, Any]:
    """Run hidden tests in this worker.

    `payload`: `tests` (the JSON of `HiddenTests`) and `program` (source texts by path). Returns `{"results": […]}`.
    Raises `SandboxUnavailable`.
    """
    results = get_worker_test_runner().run(payload["tests"], payload["program"])
    return {"results": [each.as_json() for each in results]}


class DisposableTestRunner:
    """Runner that starts a new worker for each run, in tenths of a second; for few runs, as on a laptop."""

    async def run_tests(self, tests: Mapping[str, Any], program: Mapping[str, str]) -> Sequence[HiddenTestResult]:
        """Run all tests in a new worker; see `HiddenTestRunner.run_tests`."""
        from aex_outcomes.confinement.pool import WorkerPool  # noqa: PLC0415 workers need no asyncio
        from aex_outcomes.confinement.settings import ConfinementError  # noqa: PLC0415 see above

        timeout_s, memory_mb = tests["total_ms"] / 1_000 + _GRACE_S, tests["memory_mb"] + MEMORY_MB
        pool = WorkerPool(
            1, timeout_s, memory_mb, jobs=[JOB], spares=0, max_result_bytes=_MAX_RESULT_BYTES, children=True
        )
        try:
            async with pool:
                answer = await pool.run(JOB, {"tests": dict(tests), "program": dict(program)})
        except ConfinementError as error:
            raise SandboxUnavailable(str(error)) from None
        return [
            HiddenTestResult(each["name"], Outcome(each["outcome"]), each["duration_ms"], each["message"])
            for each in answer["results"]
        ]


_PROGRAM = """
import os
def double(x): return 2 * x
def append(values): values.append(3)
class AlwaysEqual:
    def __eq__(self, other): return True
    def __hash__(self): return 0
def read_file(): return open("/etc/passwd").read()
def start_process(): return os.fork()
def signal_parent(): return os.kill(os.getppid(), 9)
def leave(): os._exit(0)
def loop():
    while True: pass
def fill_memory(): return len(bytearray(1 << 40))
"""
_TESTS = """
from program import *
def test_value(): assert double(21) == 42
def test_argument():
    values = [1]
    append(values)
    assert values == [1, 3]
def test_always_equal(): assert AlwaysEqual() == 42
def test_file(): read_file()
def test_process(): start_process()
def test_signal(): signal_parent()
def test_exit(): leave()
def test_loop(): loop()
def test_memory(): fill_memory()
def test_value_after_the_others(): assert double(2) == 4
"""
_EXPECTED = ("passed", "passed", "failed", "error", "error", "error", "crashed", "timeout", "memory", "passed")
_SELF_TEST: Mapping[str, Any] = {
    "style": "functions",
    "files": {"checks.py": _TESTS},
    "cases": None,
    "module": "program",
    "timeout_ms": 1_000,
    "total_ms": 60_000,
    "memory_mb": 64,
}


def find_self_test_failures() -> list[str]:
    """Run honest and hostile programs in this worker, and return the names of tests with a wrong outcome.

    Empty where the system has no filter of system calls, because no hidden tests are accepted there.
    """
    if not has_filters():
        return []
    try:
        results = get_worker_test_runner().run(_SELF_TEST, {"program.py": _PROGRAM})
    except SandboxUnavailable as error:
        return [f"hidden tests: {error}"]
    return [each.name for each, expected in zip(results, _EXPECTED, strict=True) if each.outcome != expected]
