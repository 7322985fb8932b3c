"""Trial of hidden tests before a work is open: on the reference, twice, and on an empty program."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aex_models.work import LintWarning, Problem
from aex_outcomes.json_values import join_pointer
from aex_outcomes.testing.discovery import find_tests
from aex_outcomes.testing.results import HiddenTest, HiddenTestResult, HiddenTestRunner, Outcome

_MAX_NAMED = 20
"""Maximum of tests that have a problem or warning of their own."""
_NO_REFERENCE = "The tests were tried on no reference: a mistake in them would fail every agent"
_VACUOUS = "Let the test call the program, and compare what it returns"


async def try_hidden_tests(tests: Mapping[str, Any], runner: HiddenTestRunner) -> list[Problem | LintWarning]:
    """Run the tests without a program, and on the reference twice; return problems and warnings.

    `tests`: the JSON of `HiddenTests`. A reference that fails or is slow is a problem, and so is a test with two
    outcomes. A test that passes without a program is a warning. Messages name tests and quote nothing.
    """
    cases = find_tests(tests)
    empty = {f"{tests['module']}.py": ""} if tests["style"] == "io" else {}
    found: list[Problem | LintWarning] = [*_vacuous(cases, await runner.run_tests(tests, empty))]
    if not tests["reference"]:
        suggestion = "Give a correct program in evaluation.tests.reference"
        warning = LintWarning(
            code="tests_without_reference", path="/tests/reference", message=_NO_REFERENCE, suggestion=suggestion
        )
        return [*found, warning]
    first = await runner.run_tests(tests, tests["reference"])
    second = await runner.run_tests(tests, tests["reference"])
    return [*found, *_reference_problems(cases, first, second), *_slow(tests, first)]


def _vacuous(cases: Sequence[HiddenTest], results: Sequence[HiddenTestResult]) -> Iterator[LintWarning]:
    passed = [case for case, result in zip(cases, results, strict=True) if result.outcome is Outcome.PASSED]
    for case in passed[:_MAX_NAMED]:
        message = f"{case.name} passes without a program"
        yield LintWarning(code="vacuous_test", path=_pointer(case), message=message, suggestion=_VACUOUS)


def _reference_problems(
    cases: Sequence[HiddenTest], first: Sequence[HiddenTestResult], second: Sequence[HiddenTestResult]
) -> list[Problem]:
    problems = []
    for case, one, other in zip(cases, first, second, strict=True):
        if (one.outcome is Outcome.PASSED) != (other.outcome is Outcome.PASSED):
            message = f"{case.name} has two outcomes on the reference: {one.outcome}, {other.outcome}"
            problems.append(Problem(path=_pointer(case), code="flaky_test", message=message))
        elif one.outcome is not Outcome.PASSED:
            message = f"{case.name} does not pass on the reference: {one.outcome}"
            problems.append(Problem(path=_pointer(case), code="reference_fails_test", message=message))
    return problems[:_MAX_NAMED]


def _slow(tests: Mapping[str, Any], results: Sequence[HiddenTestResult]) -> Iterator[Problem]:
    used_ms, limit_ms = sum(each.duration_ms for each in results), tests["total_ms"] / 2
    if used_ms > limit_ms:
        message = f"The tests take {used_ms} ms on the reference; the limit is half of total_ms, {limit_ms:g} ms"
        yield Problem(path="/tests/total_ms", code="tests_too_slow", message=message)


def _pointer(case: HiddenTest) -> str:
    return join_pointer("tests", "cases", case.case) if case.case >= 0 else join_pointer("tests", "files", case.path)
