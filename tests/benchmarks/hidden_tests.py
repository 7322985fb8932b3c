"""Speed of hidden tests beside the same tests in processes of plain Python."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aex_models.hidden_tests import HiddenTests
from aex_outcomes.testing.runner import WorkerTestRunner
from tests.benchmarks.harness import BenchRow, BenchSize, FigureUnit, TableRow, compare

TESTS = 20
BAR = 3.0
_PROGRAM = "def double(values):\n    return [2 * each for each in values]\n"
_METHODS = "".join(
    f"    def test_{number}(self):\n        self.assertEqual(double([{number}, 1]), [{2 * number}, 2])\n"
    for number in range(TESTS)
)
_CHECKS = f"import unittest\nfrom solution import double\n\nclass DoubleTests(unittest.TestCase):\n{_METHODS}"
_FILES: Mapping[str, str] = {"test_double.py": _CHECKS, "solution.py": _PROGRAM}


def measure_hidden_tests(size: BenchSize) -> Sequence[TableRow]:
    """Return the row of 20 tests by a warm runner beside 20 runs of Python's own runner."""
    with tempfile.TemporaryDirectory(prefix="aex-tests-") as folder:
        for name, text in _FILES.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        runner = WorkerTestRunner()
        try:
            own, baseline = asyncio.run(_compare(runner, folder, size.rounds))
        finally:
            runner.close()
    name = f"{TESTS} hidden tests, warm"
    return [BenchRow(name, f"{TESTS} runs of python -I -m unittest", own, baseline, BAR, FigureUnit.RATE)]


async def _compare(runner: WorkerTestRunner, folder: str, rounds: int) -> tuple[float, float]:
    tests = HiddenTests.model_validate({"style": "unittest", "files": {"test_double.py": _CHECKS}})
    plain: dict[str, Any] = tests.model_dump(mode="json")

    async def run_hidden() -> int:
        results = runner.run(plain, {"solution.py": _PROGRAM})
        assert [each.outcome for each in results] == ["passed"] * TESTS
        return TESTS

    async def run_plain() -> int:
        for number in range(TESTS):
            command = [sys.executable, "-I", "-m", "unittest", "discover", "-s", folder, "-k", f"*.test_{number}"]
            done = await asyncio.to_thread(_run_command, command)
            assert b"Ran 1 test" in done.stderr, done.stderr
        return TESTS

    return await compare(run_hidden, run_plain, rounds)


def _run_command(command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, capture_output=True, check=True)
