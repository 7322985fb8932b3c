"""Metrics of hidden tests, through the engine and in a confined worker."""

from typing import Any

import pytest

from aex_models.results import Verdict, VerificationResult
from aex_models.work import FeedbackLevel
from aex_outcomes import VerificationEngine
from aex_outcomes.evaluation_counts import count_evaluation_items
from aex_outcomes.extractors.hidden_tests import HiddenTestsExtractor
from aex_outcomes.extractors.protocol import AgentFault
from aex_outcomes.feasibility import enumerate_feasible_combinations, group_dependent_criteria
from aex_outcomes.feedback import render_feedback
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_outcomes.testing.results import HiddenTestResult
from tests.libs.outcomes.engine.builders import criteria, criterion, verify
from tests.libs.outcomes.graded import Graded

CHECKS = "from solution import f\ndef test_one(): assert f(1) == 2\ndef test_two(): assert f(2) == 4\n"
TESTS = {"style": "functions", "files": {"checks.py": CHECKS}}
ALL = criteria(
    criterion("tests_pass_rate", "gte", 1, metric_type="percentage"),
    criterion("tests_passed", "gte", 2, metric_type="count"),
    criterion("tests_failed", "eq", 0, metric_type="count"),
    criterion("tests_all_passed", "eq", True, metric_type="boolean"),
)
DOUBLE = "def f(x): return 2 * x"
FILES = {"solution.py": DOUBLE}


class Unavailable:
    async def run_tests(self, tests: Any, program: Any) -> list[HiddenTestResult]:
        del tests, program
        raise SandboxUnavailable("no process")


async def verified(graded: Graded, output: Any, tests: Any = None) -> VerificationResult:
    engine = VerificationEngine(test_runner=graded.runner)
    return await verify(ALL, output, engine=engine, evaluation={"tests": tests or TESTS})


@pytest.mark.parametrize(
    "output", [{"code": DOUBLE}, {"files": {"solution.py": DOUBLE}}, {"files": {"solution.py": DOUBLE}, "code": "x"}]
)
async def test_a_right_program_passes_all_tests(graded: Graded, output: Any) -> None:
    found = await verified(graded, output)
    assert found.verdict is Verdict.PASSED
    assert found.metrics == {"tests_pass_rate": 1, "tests_passed": 2, "tests_failed": 0, "tests_all_passed": True}


async def test_a_wrong_program_fails_and_the_details_name_each_test(graded: Graded) -> None:
    found = await verified(graded, {"code": "def f(x): return x + 1"})
    assert found.verdict is Verdict.REJECTED
    assert found.metrics == {"tests_pass_rate": 0.5, "tests_passed": 1, "tests_failed": 1, "tests_all_passed": False}
    one, two = found.details["tests_passed"]
    assert (one["name"], one["outcome"], one["message"]) == ("checks.py::test_one", "passed", "")
    assert (two["name"], two["outcome"], two["message"]) == ("checks.py::test_two", "failed", "AssertionError")


async def test_a_program_at_another_location_is_found(graded: Graded) -> None:
    found = await verified(graded, {"answer": {"text": DOUBLE}}, {**TESTS, "at": "/answer/text"})
    assert found.verdict is Verdict.PASSED


@pytest.mark.parametrize("output", [{}, {"text": DOUBLE}, {"files": None, "code": None}, None, []])
async def test_an_output_without_a_program_has_no_metric(graded: Graded, output: Any) -> None:
    found = await verified(graded, output)
    assert {each.error.code for each in found.criterion_results if each.error} == {"metric_missing"}
    assert found.verdict is Verdict.REJECTED


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ({"code": 5}, "invalid_program"),
        ({"files": [DOUBLE]}, "invalid_program"),
        ({"files": {"solution.py": 5}}, "invalid_program"),
        ({"files": {"../solution.py": ""}}, "invalid_path"),
        ({"files": {"json.py": ""}}, "module_name_taken"),
        ({"files": {"checks.py": ""}}, "module_name_taken"),
        ({"code": "x" * 1_000_001}, "program_too_large"),
        ({"files": {f"m{each}.py": "" for each in range(201)}}, "program_too_large"),
    ],
)
async def test_a_program_of_a_wrong_shape_is_the_agents_error(graded: Graded, output: Any, code: str) -> None:
    with pytest.raises(AgentFault) as caught:
        await HiddenTestsExtractor(graded.runner).extract({"tests": TESTS}, output, {})
    assert caught.value.code == code


async def test_a_program_of_cases_needs_the_module_that_is_run(graded: Graded) -> None:
    cases = {"style": "io", "module": "main", "cases": [{"stdout": "1"}]}
    with pytest.raises(AgentFault) as caught:
        await HiddenTestsExtractor(graded.runner).extract({"tests": cases}, {"files": {"other.py": ""}}, {})
    assert caught.value.code == "module_missing"


async def test_without_tests_nothing_runs() -> None:
    extractor = HiddenTestsExtractor(Unavailable())
    assert await extractor.extract({}, {"code": DOUBLE}, {}) == {}
    assert extractor.max_seconds({}, None) == 0
    assert list(await extractor.try_evaluation({})) == []


async def test_a_runner_that_cannot_run_makes_the_verdict_indeterminate() -> None:
    engine = VerificationEngine(test_runner=Unavailable())
    found = await verify(ALL, {"code": DOUBLE}, engine=engine, evaluation={"tests": TESTS})
    assert found.verdict is Verdict.INDETERMINATE
    assert {each.error.code for each in found.criterion_results if each.error} == {"sandbox_unavailable"}


async def test_without_a_worker_of_its_own_the_engine_starts_one() -> None:
    found = await verify(ALL, {"code": DOUBLE}, evaluation={"tests": TESTS})
    assert found.verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("level", "expected", "hidden"),
    [
        (FeedbackLevel.CRITERIA, "1 of 2 tests passed", "test_two"),
        (FeedbackLevel.FULL, "1 of 2 tests passed; failed: checks.py::test_two", "assert"),
        (FeedbackLevel.NONE, "", "tests passed"),
    ],
)
async def test_feedback_counts_tests_and_names_failed_ones_at_full(
    graded: Graded, level: FeedbackLevel, expected: str, hidden: str
) -> None:
    found = await verified(graded, {"code": "def f(x): return x + 1"})
    text = render_feedback(found, attempt=1, max_attempts=3, level=level)
    assert expected in text
    assert hidden not in text


async def test_feedback_counts_no_tests_if_none_ran(graded: Graded) -> None:
    text = render_feedback(await verified(graded, {}), attempt=1, max_attempts=3, level=FeedbackLevel.FULL)
    assert "tests_pass_rate: missing" in text
    assert "tests passed" not in text


def test_criteria_on_tests_depend_on_one_number() -> None:
    engine = VerificationEngine()
    counts = count_evaluation_items(ALL.criteria, {"tests": TESTS})
    groups = group_dependent_criteria(ALL.criteria, engine.catalog, counts)
    found = set(enumerate_feasible_combinations(groups, 4))
    assert found == {(False,) * 4, (True,) * 4}


async def test_details_of_many_tests_stay_below_their_limit(graded: Graded) -> None:
    functions = "".join(f"def test_{'x' * 80}_{each}(): raise ValueError('y' * 500)\n" for each in range(12))

    class Repeated:
        async def run_tests(self, tests: Any, program: Any) -> list[HiddenTestResult]:
            return list(graded.runner.run(tests, program)) * 40

    tests = {"style": "functions", "files": {"checks.py": functions}}
    engine = VerificationEngine(test_runner=Repeated())
    found = await verify(ALL, {"code": DOUBLE}, engine=engine, evaluation={"tests": tests})
    assert len(found.details["tests_pass_rate"]) == 480
    assert len(str(found.details)) < 64_000
