from typing import Any

import pytest

from aex_outcomes.confinement.pool import WorkerPool
from tests.libs.outcomes.sandbox.conftest import DRY_RUN

pytestmark = pytest.mark.asyncio(loop_scope="module")

HEAD = "def evaluate(input, output, metadata):\n    "
FAST = {"extractors": {"custom": {"sandbox": {"timeout_ms": 2_000, "memory_limit_mb": 32}}}}


async def tried(pool: WorkerPool, *codes: str, **more: Any) -> dict[str, Any]:
    metrics = [{"name": f"m{number}", "code": code} for number, code in enumerate(codes)]
    given = {"custom_metrics": metrics, "input": {}, "evaluation": {}, "success_criteria": None, "config": FAST}
    return await pool.run(DRY_RUN, given | more)


def criteria(metric: str, threshold: float, metric_type: str = "numeric") -> dict[str, Any]:
    return {"criteria": [expected(metric, threshold, metric_type)]}


def expected(metric: str, threshold: Any, metric_type: str = "numeric") -> dict[str, Any]:
    comparison = "eq" if threshold is True else "gte"
    return {"metric": metric, "metric_type": metric_type, "comparison": comparison, "threshold": threshold}


async def test_honest_code_has_neither_problem_nor_warning(pool: WorkerPool) -> None:
    code = f"{HEAD}return len(output.get('text', '')) / max(1, len(input['reference']))"
    found = await tried(pool, code, evaluation={"reference": "abc"}, success_criteria=criteria("custom.m0", 1))
    assert found == {"problems": [], "warnings": []}


async def test_the_reference_lies_where_texts_are_looked_for(pool: WorkerPool) -> None:
    config = FAST | {"extractors": {**FAST["extractors"], "text_quality": {"config": {"text_pointer": "/a/b"}}}}
    code = f"{HEAD}return 1 if not output or output['a']['b'] == input['reference'] else 'no'"
    assert (await tried(pool, code, evaluation={"reference": "abc"}, config=config))["warnings"] == []


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("while True: pass", "custom_metric_timeout"),
        ("return len('x' * 10 ** 9)", "custom_metric_memory"),
        ("return eval('(' * 50_000)", "custom_metric_syntax"),
    ],
)
async def test_what_no_candidate_mends_refuses_the_work(pool: WorkerPool, statement: str, code: str) -> None:
    found = await tried(pool, f"{HEAD}return 1", f"{HEAD}{statement}")
    assert [(each["code"], each["path"]) for each in found["problems"]] == [(code, "/evaluation/custom_metrics/1/code")]


async def test_each_code_is_warned_of_once_for_each_candidate(pool: WorkerPool) -> None:
    named = [
        expected("custom.m0.x", 1),
        expected("custom.m0.y", 1),
        expected("custom.m1", 1),
        expected("custom.m1.z", 1),
    ]
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
