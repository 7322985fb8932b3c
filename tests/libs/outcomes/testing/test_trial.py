"""Hidden tests are tried before a work is open."""

from typing import Any

from aex_models.hidden_tests import HiddenTests
from aex_models.work import Problem
from aex_outcomes.testing.trial import try_hidden_tests
from tests.libs.outcomes.graded import Graded

CHECKS = """
from solution import f
def test_right(): assert f() == 1
def test_wrong(): assert f() == 2
"""


async def findings(graded: Graded, **tests: Any) -> list[tuple[str, str, str]]:
    normal = HiddenTests.model_validate(tests).model_dump(mode="json")
    found = await try_hidden_tests(normal, graded.runner)
    return [("problem" if isinstance(each, Problem) else "warning", each.path, each.code) for each in found]


async def test_a_reference_that_fails_a_test_is_a_problem_that_names_it(graded: Graded) -> None:
    reference = {"solution.py": "def f(): return 1"}
    found = await findings(graded, style="functions", files={"checks.py": CHECKS}, reference=reference)
    assert found == [("problem", "/tests/files/checks.py", "reference_fails_test")]


async def test_a_good_reference_has_no_finding(graded: Graded) -> None:
    tests = {
        "style": "io",
        "cases": [{"stdin": "2", "stdout": "4"}],
        "reference": {"solution.py": "print(2 * int(input()))"},
    }
    assert await findings(graded, **tests) == []


async def test_a_test_with_two_outcomes_is_a_problem(graded: Graded) -> None:
    # Ten million to one against equal outcomes of a coin's toss is not needed: one of a few tries differs.
    checks = "import solution, time\n" + "".join(
        f"def test_{each}(): assert solution.f() % 2 == 0\n" for each in range(12)
    )
    reference = {"solution.py": "import time\ndef f(): return time.perf_counter_ns() // 1_000"}
    found = await findings(graded, style="functions", files={"checks.py": checks}, reference=reference)
    assert ("problem", "/tests/files/checks.py", "flaky_test") in found


async def test_tests_that_take_more_than_half_of_the_time_are_a_problem(graded: Graded) -> None:
    reference = {"solution.py": "import time\ndef f(): time.sleep(0.6); return 1"}
    checks = "from solution import f\ndef test_f(): assert f() == 1"
    tests = {"style": "functions", "files": {"checks.py": checks}, "reference": reference, "total_ms": 1_200}
    assert await findings(graded, **tests) == [("problem", "/tests/total_ms", "tests_too_slow")]


async def test_tests_without_a_reference_and_vacuous_tests_are_warnings(graded: Graded) -> None:
    checks = "def test_nothing(): assert True\ndef test_f():\n    import solution"
    assert await findings(graded, style="functions", files={"checks.py": checks}) == [
        ("warning", "/tests/files/checks.py", "vacuous_test"),
        ("warning", "/tests/reference", "tests_without_reference"),
    ]
    assert await findings(graded, style="io", cases=[{"stdout": "\n"}, {"stdout": "1"}]) == [
        ("warning", "/tests/cases/0", "vacuous_test"),
        ("warning", "/tests/reference", "tests_without_reference"),
    ]
