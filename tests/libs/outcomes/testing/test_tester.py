"""Hidden tests run by their style, and each end of test or program has its outcome."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from aex_outcomes.testing.memory_importer import SourceFinder
from aex_outcomes.testing.tester import HiddenTestReport, run_one_test
from tests.libs.outcomes.testing.served import ServedProgram, importable, serve

PROGRAM = """
def double(x): return 2 * x
def exhaust(): raise MemoryError
"""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedProgram]:
    with serve({"solution.py": PROGRAM}) as program:
        module = program.load()
        monkeypatch.setitem(sys.modules, "solution", module)
        yield program
        monkeypatch.undo()


def report(served: ServedProgram, style: str, source: str, name: str, path: str = "checks.py") -> HiddenTestReport:
    task = {"style": style, "path": path, "name": name}
    with importable(SourceFinder({path: source})):
        return run_one_test(task, served.client)


def functions(served: ServedProgram, body: str) -> tuple[str, str]:
    source = f"import solution, unittest\ndef test_it():\n    {body}\n"
    found = report(served, "functions", source, "test_it")
    return found.outcome.value, found.message


@pytest.mark.parametrize(
    ("body", "outcome", "message"),
    [
        ("assert solution.double(2) == 4", "passed", ""),
        ("assert solution.double(2) == 5, 'five'", "failed", "AssertionError: five"),
        ("raise unittest.SkipTest('later')", "failed", "skipped: later"),
        ("raise RuntimeError('no')", "error", "RuntimeError: no"),
        ("raise SystemExit(0)", "error", "SystemExit: 0"),
        ("raise MemoryError('no')", "memory", "MemoryError: no"),
        ("solution.exhaust()", "memory", "MemoryError"),
        ("solution.absent", "error", "AttributeError: module 'solution' has no attribute 'absent'"),
    ],
)
def test_the_end_of_a_function_is_the_outcome(served: ServedProgram, body: str, outcome: str, message: str) -> None:
    assert functions(served, body) == (outcome, message)


def test_a_program_without_memory_counts_before_a_later_failure(served: ServedProgram) -> None:
    expected = "try: solution.exhaust()\n    except MemoryError: pass"
    assert functions(served, expected) == ("passed", "")
    assert functions(served, "assert False")[0] == "memory"


@pytest.mark.parametrize("body", ["solution.double(1)", "try: solution.double(1)\n    except BaseException: pass"])
def test_a_test_never_passes_after_the_program_ended(served: ServedProgram, body: str) -> None:
    served.disconnect()
    assert functions(served, body) == ("crashed", "the program ended, or sent an invalid message")


def test_a_file_without_functions_passes_if_it_runs_to_its_end(served: ServedProgram) -> None:
    for value, outcome in ((4, "passed"), (5, "failed")):
        source = f"import solution\nassert solution.double(2) == {value}"
        assert report(served, "functions", source, "", "pack/checks.py").outcome == outcome


METHODS = """
import unittest
import solution

class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.factor = 2
    def setUp(self): self.values = [self.factor]

class Checks(Base):
    def test_pass(self): self.assertEqual(solution.double(1), self.values[0])
    def test_fail(self): self.assertEqual([1], [2], "differs")
    def test_error(self): solution.absent
    def test_subtests(self):
        for each in (1, 2):
            with self.subTest(each): self.assertEqual(each, 1)
    @unittest.skip("later")
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass

class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError("no set-up")
    def test_pass(self): pass

class SuiteTestCase: pass

class Empty(SuiteTestCase):
    @staticmethod
    def test_nothing(): return unittest.TestSuite()
"""


@pytest.mark.parametrize(
    ("name", "outcome", "message"),
    [
        ("Checks.test_pass", "passed", ""),
        ("Checks.test_fail", "failed", "AssertionError: Lists differ: [1] != [2]"),
        ("Checks.test_error", "error", "AttributeError: module 'solution' has no attribute 'absent'"),
        ("Checks.test_subtests", "failed", "AssertionError: 2 != 1"),
        ("Checks.test_skip", "failed", "skipped: later"),
        ("Checks.test_expected", "passed", ""),
        ("Checks.test_unexpected", "failed", "passed, although a failure is expected"),
        ("Checks.test_absent", "error", "AttributeError: type object 'Checks' has no attribute 'test_absent'"),
        ("Broken.test_pass", "error", "RuntimeError: no set-up"),
        ("Empty.test_nothing", "error", "the test did not run"),
    ],
)
def test_the_result_of_a_method_is_the_outcome(served: ServedProgram, name: str, outcome: str, message: str) -> None:
    found = report(served, "unittest", METHODS, name)
    assert found.outcome == outcome
    assert found.message.startswith(message)


def test_a_file_that_cannot_be_imported_is_an_error(served: ServedProgram) -> None:
    found: list[Any] = [report(served, style, "import absent_module", "test_it") for style in ("functions", "unittest")]
    assert [each.outcome for each in found] == ["error", "error"]
