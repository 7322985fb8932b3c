"""Runner of hidden tests in a confined worker, which keeps a zygote between runs."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_outcomes.testing.discovery import find_tests
from aex_outcomes.testing.io_run import run_io_case
from aex_outcomes.testing.pair_run import RunLimits, run_pair
from aex_outcomes.testing.results import HiddenTest, HiddenTestResult, Outcome
from aex_outcomes.testing.zygote_process import ZygoteProcess

_ZYGOTE_RUNS = 5_000
"""Number of tests after which the zygote is replaced."""


class WorkerTestRunner:
    """Runner of hidden tests by forked processes, one test at a time."""

    def __init__(self) -> None:
        self._zygote: ZygoteProcess | None = None
        self._runs = 0

    async def run_tests(self, tests: Mapping[str, Any], program: Mapping[str, str]) -> Sequence[HiddenTestResult]:
        """Run all tests against a program; blocks the event loop, because a worker has one job at a time."""
        return self.run(tests, program)

    def run(self, tests: Mapping[str, Any], program: Mapping[str, str]) -> list[HiddenTestResult]:
        """Run all tests against a program and return their results in order.

        A test that does not begin within `total_ms` is a timeout. Raises `SandboxUnavailable`.
        """
        deadline = time.monotonic() + tests["total_ms"] / 1_000
        results = []
        for case in find_tests(tests):
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                results.append(HiddenTestResult(case.name, Outcome.TIMEOUT, 0, "the time of all tests was over before"))
                continue
            limits = RunLimits(min(tests["timeout_ms"] / 1_000, remaining_s), tests["memory_mb"])
            results.append(self._run_with_retry(tests, case, program, limits))
        return results

    def close(self) -> None:
        """End the zygote; a later run starts another one."""
        zygote, self._zygote, self._runs = self._zygote, None, 0
        if zygote is not None:
            zygote.close()

    def _run_with_retry(
        self, tests: Mapping[str, Any], case: HiddenTest, program: Mapping[str, str], limits: RunLimits
    ) -> HiddenTestResult:
        """Run one test; if the zygote fails, run it once more with a new one."""
        try:
            return self._run_case(tests, case, program, limits)
        except SandboxUnavailable:
            self.close()
        try:
            return self._run_case(tests, case, program, limits)
        except SandboxUnavailable:
            self.close()
            raise

    def _run_case(
        self, tests: Mapping[str, Any], case: HiddenTest, program: Mapping[str, str], limits: RunLimits
    ) -> HiddenTestResult:
        if self._zygote is None or self._runs >= _ZYGOTE_RUNS:
            self.close()
            self._zygote = ZygoteProcess()
        self._runs += 1
        run = run_io_case if case.case >= 0 else run_pair
        return run(self._zygote, tests, case, program, limits)
