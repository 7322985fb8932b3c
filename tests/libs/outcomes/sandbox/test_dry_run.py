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


def criteria(metric: str, threshold: float) -> dict[str, Any]:
    criterion = {"metric": metric, "metric_type": "numeric", "comparison": "gte", "threshold": threshold}
    return {"criteria": [criterion]}


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


@pytest.mark.parametrize(
    ("statement", "code"),
    [("return 'text'", "custom_metric_bad_result"), ("print('x' * 100_000)", "custom_metric_too_much_output")],
)
async def test_a_result_that_is_none_is_a_warning(pool: WorkerPool, statement: str, code: str) -> None:
    found = await tried(pool, f"{HEAD}{statement}")
    assert [each["code"] for each in found["warnings"]] == [code]


async def test_a_reference_that_fails_its_criteria_is_a_warning(pool: WorkerPool) -> None:
    code = f"{HEAD}return len(output.get('text', ''))"
    found = await tried(pool, code, evaluation={"reference": "abc"}, success_criteria=criteria("custom.m0", 4))
    assert [each["code"] for each in found["warnings"]] == ["reference_fails_criteria"]
    passing = await tried(pool, code, evaluation={"reference": "abc"}, success_criteria=criteria("custom.m0", 3))
    assert passing["warnings"] == []


async def test_a_reference_is_held_against_criteria_without_custom_code_too(pool: WorkerPool) -> None:
    found = await tried(pool, evaluation={"reference": "abc"}, success_criteria=criteria("output_length", 4))
    assert [each["code"] for each in found["warnings"]] == ["reference_fails_criteria"]
