"""A work's code is tried before anyone works for it."""

from typing import Any

import pytest

from aex_outcomes.confinement.pool import WorkerPool
from tests.libs.outcomes.sandbox.conftest import DRY_RUN

pytestmark = pytest.mark.asyncio(loop_scope="module")

HEAD = "def evaluate(input, output, metadata):\n    "
FAST = {"extractors": {"custom": {"sandbox": {"timeout_ms": 500, "memory_limit_mb": 32}}}}


async def tried(pool: WorkerPool, *codes: str, **more: Any) -> dict[str, Any]:
    metrics = [{"name": f"m{number}", "code": code} for number, code in enumerate(codes)]
    given = {"custom_metrics": metrics, "input": {}, "evaluation": {}, "success_criteria": None, "config": FAST}
    return await pool.run(DRY_RUN, given | more)


def criteria(metric: str, threshold: float, metric_type: str = "numeric") -> dict[str, Any]:
    return {"criteria": [wanted(metric, threshold, metric_type)]}


def wanted(metric: str, threshold: Any, metric_type: str = "numeric") -> dict[str, Any]:
    comparison = "eq" if threshold is True else "gte"
    return {"metric": metric, "metric_type": metric_type, "comparison": comparison, "threshold": threshold}


async def test_honest_code_has_neither_problem_nor_warning(pool: WorkerPool) -> None:
    code = f"{HEAD}return len(output.get('text', '')) / max(1, len(input['reference']))"
    found = await tried(pool, code, evaluation={"reference": "abc"}, success_criteria=criteria("custom.m0", 1))
    assert found == {"problems": [], "warnings": []}


async def test_an_exception_is_a_warning_without_its_text(pool: WorkerPool) -> None:
    found = await tried(pool, f"{HEAD}return 1", f"{HEAD}return output['hush']")
    assert found["problems"] == []
    [warning] = found["warnings"]
    assert (warning["code"], warning["path"]) == ("custom_metric_exception", "/evaluation/custom_metrics/1/code")
    assert warning["message"] == "The code raises KeyError on an empty candidate (line 2)"


async def test_the_reference_is_tried_as_a_candidate(pool: WorkerPool) -> None:
    code = f"{HEAD}assert 'text' not in output\n    return 1"
    found = await tried(pool, code, evaluation={"reference": ["hush", "other"]})
    assert [each["message"] for each in found["warnings"]] == [
        "The code raises AssertionError on the reference (line 2)"
    ]


async def test_the_reference_lies_where_texts_are_looked_for(pool: WorkerPool) -> None:
    config = FAST | {"extractors": {**FAST["extractors"], "text_quality": {"config": {"text_pointer": "/a/b"}}}}
    code = f"{HEAD}return 1 if not output or output['a']['b'] == input['reference'] else 'no'"
    assert (await tried(pool, code, evaluation={"reference": "abc"}, config=config))["warnings"] == []


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("while True: pass", "custom_metric_timeout"),
        ("return 7 ** 10_000_000 % 2", "custom_metric_timeout"),
        ("return len('x' * 10 ** 9)", "custom_metric_memory"),
        ("return eval('(' * 50_000)", "custom_metric_syntax"),
    ],
)
async def test_what_no_candidate_mends_refuses_the_work(pool: WorkerPool, statement: str, code: str) -> None:
    found = await tried(pool, f"{HEAD}return 1", f"{HEAD}{statement}")
    assert [(each["code"], each["path"]) for each in found["problems"]] == [(code, "/evaluation/custom_metrics/1/code")]


async def test_one_work_does_not_keep_the_worker_through_all_its_endless_code(pool: WorkerPool) -> None:
    found = await tried(pool, *[f"{HEAD}while True: pass"] * 20, evaluation={"reference": "abc"})
    assert [each["path"] for each in found["problems"]] == ["/evaluation/custom_metrics/0/code"]


async def test_code_that_is_no_python_keeps_no_other_from_its_trial(pool: WorkerPool) -> None:
    found = await tried(pool, *[f"{HEAD}return eval('(' * 50_000)"] * 2, evaluation={"reference": "abc"})
    assert [each["path"] for each in found["problems"]] == [
        f"/evaluation/custom_metrics/{number}/code" for number in (0, 1)
    ]


@pytest.mark.parametrize(
    ("statement", "code"),
    [("return 'text'", "custom_metric_bad_result"), ("print('x' * 100_000)", "custom_metric_too_much_output")],
)
async def test_a_result_that_is_none_is_a_warning(pool: WorkerPool, statement: str, code: str) -> None:
    found = await tried(pool, f"{HEAD}{statement}")
    assert [each["code"] for each in found["warnings"]] == [code]


RULED_OUT = "The code returns for {} what the type {} rules out on an empty candidate"


@pytest.mark.parametrize(
    ("returned", "criterion", "message"),
    [
        ("{'a': 1}", wanted("custom.m0.b", 1), "The code returns no entry b on an empty candidate"),
        ("{'a': 1}", wanted("custom.m0", 1), "The code returns no entry m0 on an empty candidate"),
        ("1", wanted("custom.m0.b", 1), "The code returns no entry b on an empty candidate"),
        ("4711", wanted("custom.m0", 0.5, "percentage"), RULED_OUT.format("custom.m0", "percentage")),
        ("4711", wanted("custom.m0", 50, "percentage"), RULED_OUT.format("custom.m0", "percentage")),
        ("{'a': 47.11}", wanted("custom.m0.a", 1, "count"), RULED_OUT.format("custom.m0.a", "count")),
        ("1", wanted("custom.m0", True, "boolean"), RULED_OUT.format("custom.m0", "boolean")),
        ("True", wanted("custom.m0", 1), RULED_OUT.format("custom.m0", "numeric")),
    ],
)
async def test_a_result_that_a_criterion_cannot_use_is_a_warning_that_quotes_nothing(
    pool: WorkerPool, returned: str, criterion: dict[str, Any], message: str
) -> None:
    found = await tried(pool, f"{HEAD}return {returned}", success_criteria={"criteria": [criterion]})
    assert found["problems"] == []
    [warning] = found["warnings"]
    assert (warning["code"], warning["path"]) == ("custom_metric_bad_result", "/evaluation/custom_metrics/0/code")
    assert warning["message"] == message
    assert warning["suggestion"]


async def test_each_code_is_warned_of_once_for_each_candidate(pool: WorkerPool) -> None:
    named = [wanted("custom.m0.x", 1), wanted("custom.m0.y", 1), wanted("custom.m1", 1), wanted("custom.m1.z", 1)]
    codes = f"{HEAD}return {{'a': 1}}", f"{HEAD}return 1 if output else {{'m1': 1, 'z': 2}}", f"{HEAD}return {{'a': 1}}"
    found = await tried(pool, *codes, evaluation={"reference": "abc"}, success_criteria={"criteria": named})
    assert [(each["path"].split("/")[3], each["message"]) for each in found["warnings"]] == [
        ("0", "The code returns no entry x on an empty candidate"),
        ("0", "The code returns no entry x on the reference"),
        ("1", "The code returns no entry z on the reference"),
    ]


async def test_percent_is_read_as_such_when_code_is_tried(pool: WorkerPool) -> None:
    found = await tried(pool, f"{HEAD}return 95", success_criteria=criteria("custom.m0", 90, "percentage"))
    assert found == {"problems": [], "warnings": []}


async def test_a_reference_that_fails_its_criteria_is_a_warning(pool: WorkerPool) -> None:
    code = f"{HEAD}return len(output.get('text', ''))"
    found = await tried(pool, code, evaluation={"reference": "abc"}, success_criteria=criteria("custom.m0", 4))
    assert [each["code"] for each in found["warnings"]] == ["reference_fails_criteria"]
    passing = await tried(pool, code, evaluation={"reference": "abc"}, success_criteria=criteria("custom.m0", 3))
    assert passing["warnings"] == []


async def test_a_reference_is_held_against_criteria_without_custom_code_too(pool: WorkerPool) -> None:
    found = await tried(pool, evaluation={"reference": "abc"}, success_criteria=criteria("output_length", 4))
    assert [each["code"] for each in found["warnings"]] == ["reference_fails_criteria"]
