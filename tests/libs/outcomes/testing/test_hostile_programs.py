"""Hostile programs pass no test, read no secret, end in time, and leave the next verdict right."""

import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.libs.outcomes.graded import Graded

_PROGRAMS = Path(__file__).parent / "hostile"
_SHARED = {f"{each.stem}.py": each.read_text() for each in (_PROGRAMS / "shared").iterdir()}
"""Modules that the hostile programs import."""
_TIMEOUT_MS = 1_000
_MARGIN_S = 10.0  # for a machine under load
_FAILURES = {"failed", "error", "timeout", "memory", "crashed"}
_CHECKS = """
import fractions, math, unittest
from solution import *
case = unittest.TestCase()
COMPARISONS = [
    lambda: case.assertEqual(answer(), 42),
    lambda: case.assertTrue(answer() == 42 or 42 == answer()),
    lambda: case.assertAlmostEqual(answer(), 42.5),
    lambda: case.assertTrue(41 < answer() < 43),
    lambda: case.assertIs(answer(), 42),
    lambda: case.assertIn(answer(), [42, "answer"]),
    lambda: case.assertCountEqual([answer()], [42]),
    lambda: case.assertEqual([answer()], [42]),
    lambda: case.assertEqual({answer(): 1}, {42: 1}),
    lambda: case.assertDictEqual({"a": answer()}, {"a": 42}),
    lambda: case.assertTrue(set([answer()]) == set([42])),
    lambda: case.assertTrue(sorted([answer(), 1]) == [1, 42]),
    lambda: case.assertTrue(sum([answer(), 1]) == 43),
    lambda: case.assertTrue(abs(answer() - 42) < 1e-6),
    lambda: case.assertTrue(fractions.Fraction(42) == answer()),
    lambda: case.assertTrue(math.isclose(answer(), 42.0)),
    lambda: case.assertTrue(f"{answer()}" == "42"),
    lambda: case.assertRegex(str(answer()), "^42$"),
    lambda: case.assertIn(42, answer()),
]
class TestAnswer(unittest.TestCase):
    def test_answer(self): self.assertEqual(answer(), 42)
    def test_any_comparison(self):
        def is_true(comparison):
            try: comparison()
            except Exception: return False
            return True
        assert [index for index, each in enumerate(COMPARISONS) if is_true(each)]
"""


def _programs(*groups: str) -> list[object]:
    """Programs of these files, each of which begins with a line `### name` and defines `answer()`."""
    texts = [(group, (_PROGRAMS / f"{group}.txt").read_text()) for group in groups]
    return [
        pytest.param({"solution.py": code, **_SHARED}, id=f"{group}: {name}")
        for group, text in texts
        for name, code in re.findall(r"^### (.+)\n((?:(?!### ).*\n)+)", text, re.MULTILINE)
    ]


@pytest.fixture(scope="module", autouse=True)
def _warm(graded: Graded) -> None:
    graded.one("def answer(): return 42", "assert answer() == 42")


def assert_next_verdicts_are_right(graded: Graded) -> None:
    assert graded.one("def answer(): return 42", "assert answer() == 42").outcome == "passed"
    assert graded.one("def answer(): return 41", "assert answer() == 42").outcome == "failed"


def _file(test: str, **more: object) -> Mapping[str, object]:
    text = f"from solution import *\ndef test_it():\n    SECRET = 'planted-secret'\n    {test}\n"
    return {"style": "functions", "files": {"checks.py": text}, "timeout_ms": _TIMEOUT_MS, **more}


@pytest.mark.parametrize("program", _programs("files", "system", "imports", "secrets", "messages", "resources", "ends"))
def test_a_hostile_program_fails_in_time_and_leaves_no_trace(graded: Graded, program: Mapping[str, str]) -> None:
    began = time.monotonic()
    tests = _file("assert answer() == 42, SECRET", reference={"reference.py": "ANSWER = 'planted-secret'"})
    [found] = graded.results(tests, program)
    assert time.monotonic() - began < _TIMEOUT_MS / 1_000 + _MARGIN_S
    assert found.outcome in _FAILURES
    assert found.message.encode()
    assert_next_verdicts_are_right(graded)


@pytest.mark.parametrize("program", _programs("objects", "alterations"))
def test_a_program_without_the_answer_passes_no_test(graded: Graded, program: Mapping[str, str]) -> None:
    tests = {"style": "unittest", "files": {"checks.py": _CHECKS}, "timeout_ms": _TIMEOUT_MS}
    found = graded.results(tests, program)
    assert [each.outcome for each in found if each.outcome not in _FAILURES] == []
    assert len(found) == 2
    assert_next_verdicts_are_right(graded)


@pytest.mark.parametrize("program", _programs("arguments"))
def test_an_argument_is_not_written_back_as_what_it_is_not(graded: Graded, program: Mapping[str, str]) -> None:
    tests = _file("values = [1]; change(values); assert values == [1, 2] or 8 in values")
    [found] = graded.results(tests, program)
    assert found.outcome in _FAILURES


@pytest.mark.parametrize("program", _programs("output"))
def test_a_program_that_does_not_write_the_output_and_end_passes_no_case(
    graded: Graded, program: Mapping[str, str]
) -> None:
    cases = [{"stdin": "x" * 200_000, "stdout": "42"}]
    began = time.monotonic()
    [found] = graded.results({"style": "io", "cases": cases, "timeout_ms": _TIMEOUT_MS}, program)
    assert time.monotonic() - began < _TIMEOUT_MS / 1_000 + _MARGIN_S
    assert found.outcome in _FAILURES
    [following] = graded.results({"style": "io", "cases": cases}, {"solution.py": "print(42)"})
    assert following.outcome == "passed"
