"""Comparison of an agent's query with the expected result."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.canonical import canonical_bytes
from aex_models.grader_data import SqlTask
from aex_outcomes.extractors.protocol import AgentFault, Detailed, MetricFault, PlatformFault
from aex_outcomes.extractors.sql import METRIC, SqlExtractor
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_outcomes.sandbox.query_job import run_query
from aex_outcomes.sandbox.query_port import QueryFailed, QueryFault, QueryLost, QueryResult, QueryTable
from aex_outcomes.sandbox.query_runner import MAX_SECONDS, DisposableQueryRunner

TABLES = {"t": {"columns": {"a": "INTEGER", "b": "VARCHAR"}, "rows": [[1, "canary"], [2, None]]}}


async def run_here(payload: dict[str, Any]) -> dict[str, Any]:
    """Run the job in this process, with the payload as it arrives in a worker."""
    return run_query(json.loads(json.dumps(payload)))


HERE = DisposableQueryRunner(run_here)


class Failing:
    """Runner that fails for one query, and runs others here."""

    def __init__(self, error: Exception, query: str = "own") -> None:
        self.error, self.query = error, query

    async def run(self, query: str, tables: Sequence[QueryTable]) -> QueryResult:
        if query == self.query:
            raise self.error
        return await HERE.run("SELECT 1", tables)


def task(expected: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"tables": TABLES, "expected": expected, **fields}


async def value(sql: dict[str, Any], output: Any, extractor: SqlExtractor | None = None) -> Any:
    found = await (extractor or SqlExtractor(runner=HERE)).extract({"sql": sql}, output, {})
    return found.get(METRIC)


async def is_match(query: str, expected: dict[str, Any], **fields: Any) -> bool:
    found = await value(task(expected, **fields), {"sql": query})
    assert isinstance(found, Detailed), found
    assert isinstance(found.value, bool), found
    return found.value


async def test_the_specified_example() -> None:
    assert await is_match("SELECT 1 UNION ALL SELECT 2", {"rows": [[2], [1]]})
    assert not await is_match("SELECT 1 UNION ALL SELECT 2", {"rows": [[2], [1]]}, ordered=True)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT a, b FROM t", [[2, None], [1, "canary"]]),
        (
            "SELECT DATE '2024-01-31', TIME '10:30', TIMESTAMP '2024-01-31 10:00'",
            [["2024-01-31", "10:30:00", "2024-01-31T10:00:00"]],
        ),
        ("SELECT 1.10::DECIMAL(10,2), sum(a) FROM t", [[1.1, 3]]),
        ("SELECT avg(a) FROM t", [[1.5]]),
        (
            "SELECT '\\xAA\\xBB'::BLOB, true, [1, NULL], {'x': 1.5, 'y': ['z']}",
            [["qrs=", True, [1, None], {"y": ["z"], "x": 1.5}]],
        ),
        ("SELECT 9223372036854775807", [["9223372036854775807"]]),
        ("SELECT 'NaN'::DOUBLE, 1/0", [["NaN", "Infinity"]]),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) FROM r", [[1], [2], [3]]),
        ("SELECT a FROM t WHERE a > 5", []),
    ],
)
async def test_results_match_rows_of_json(query: str, rows: list[list[Any]]) -> None:
    assert await is_match(query, {"rows": rows})


async def test_a_task_may_have_no_table() -> None:
    expected = {"rows": [[2], [1]]}
    for task_without in ({"tables": {}, "expected": expected}, {"expected": expected}):
        found = await value(task_without, {"sql": "SELECT 1 UNION ALL SELECT 2"})
        assert isinstance(found, Detailed)
        assert found.value is True


async def test_a_query_may_be_the_expectation() -> None:
    assert await is_match("SELECT b, a FROM t ORDER BY a", {"query": "FROM t SELECT b, a ORDER BY a DESC"})
    assert not await is_match("SELECT a FROM t", {"query": "SELECT a FROM t WHERE a = 1"})
    assert not await is_match("SELECT 1 WHERE false", {"query": "SELECT 1, 2 WHERE true"})


async def test_names_count_only_where_they_are_demanded_and_in_any_case() -> None:
    expected = {"columns": ["Total"], "rows": [[3]]}
    assert await is_match("SELECT sum(a) FROM t", expected)
    assert not await is_match("SELECT sum(a) FROM t", expected, names=True)
    assert await is_match("SELECT sum(a) AS total FROM t", expected, names=True)


async def test_columns_keep_their_order_when_keys_are_sorted() -> None:
    tables = {"t": {"columns": {"b": "VARCHAR", "a": "DATE"}, "rows": [["x", "2024-01-31"]]}}
    parsed = SqlTask.model_validate({"tables": tables, "expected": {"query": "SELECT b, a FROM t"}})
    stored = json.loads(canonical_bytes(parsed.model_dump(mode="json", exclude_none=True)))
    assert (await value(stored, {"sql": "SELECT 'x', DATE '2024-01-31'"})).value is True


def test_an_order_that_is_not_that_of_the_columns_is_refused() -> None:
    table = {"columns": {"b": "VARCHAR"}, "column_order": ["a"]}
    with pytest.raises(ValidationError, match="column_order"):
        SqlTask.model_validate({"tables": {"t": table}, "expected": {"rows": []}})


async def test_the_tolerance_is_the_works() -> None:
    assert not await is_match("SELECT 1.001::DOUBLE", {"rows": [[1]]})
    assert await is_match("SELECT 1.001::DOUBLE", {"rows": [[1]]}, float_tol=0.01)


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ({"sql": 5}, "wrong_kind"),
        ({"sql": None}, "wrong_kind"),
        ({"sql": "x" * 100_001}, "text_too_long"),
        ({"sql": "SELECT '\ud800'"}, "not_unicode"),
        ({"sql": ""}, "not_one_select"),
        ({"sql": "SELECT 1; SELECT 2"}, "not_one_select"),
        ({"sql": "COPY t TO '/tmp/x'"}, "not_one_select"),
        ({"sql": "SELEC"}, "sql_failed"),
        ({"sql": "SELECT * FROM read_csv('/etc/passwd')"}, "sql_failed"),
        ({"sql": "SELECT b::INTEGER FROM t"}, "sql_failed"),
    ],
)
async def test_a_bad_query_is_the_agents_fault_and_quotes_no_table(output: Any, code: str) -> None:
    found = await value(task({"rows": [[1]]}), output)
    fault = found.value if isinstance(found, Detailed) else found
    assert isinstance(fault, AgentFault)
    assert fault.code == code
    assert "canary" not in fault.message


async def test_the_databases_text_is_a_detail() -> None:
    found = await value(task({"rows": [[1]]}), {"sql": "SELECT b::INTEGER FROM t"})
    assert "canary" in found.details["error"]


async def test_an_output_without_query_has_no_metric() -> None:
    assert await value(task({"rows": [[1]]}), {"text": "SELECT 1"}) is None
    assert await SqlExtractor(runner=HERE).extract({}, {"sql": "SELECT 1"}, {}) == {}


async def test_the_location_of_named_data_wins_over_that_of_the_data() -> None:
    sql, output = task({"rows": [[1]]}, at="/answer"), {"sql": "x", "answer": "SELECT 1", "named": "SELECT 2"}
    assert (await value(sql, output)).value is True
    assert (await value(sql, output, SqlExtractor(runner=HERE).at_pointer("/named"))).value is False


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (QueryFailed(QueryFault.CRASHED), AgentFault, "sql_failed"),
        (QueryFailed(QueryFault.TIMED_OUT), AgentFault, "sql_failed"),
        (QueryFailed(QueryFault.TABLES, "why"), PlatformFault, "custom_metric_failed"),
        (QueryLost("killed"), PlatformFault, "query_lost"),
        (SandboxUnavailable("off"), PlatformFault, "sandbox_unavailable"),
    ],
)
async def test_only_the_querys_own_faults_are_the_agents(error: Exception, kind: type[MetricFault], code: str) -> None:
    found = await value(task({"rows": [[1]]}), {"sql": "own"}, SqlExtractor(runner=Failing(error)))
    assert isinstance(found, kind)
    assert found.code == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (QueryFailed(QueryFault.DATA, "why"), "custom_metric_failed"),
        (QueryLost("killed"), "query_lost"),
        (SandboxUnavailable("off"), "sandbox_unavailable"),
    ],
)
async def test_a_failing_expected_query_is_never_the_agents_fault(error: Exception, code: str) -> None:
    sql = task({"query": "SELECT 7"})
    for own in ("SELECT 1", "SELEC"):
        found = await value(sql, {"sql": own}, SqlExtractor(runner=Failing(error, "SELECT 7")))
        assert isinstance(found, PlatformFault)
        assert found.code == code


async def test_the_trial_runs_the_expected_query() -> None:
    async def codes(expected: dict[str, Any], tables: Any = TABLES) -> list[tuple[str, str]]:
        found = await SqlExtractor(runner=HERE).try_evaluation({"sql": {"tables": tables, "expected": expected}})
        assert all("canary" not in each.message for each in found)
        return [(each.path, each.code) for each in found]

    assert await codes({"rows": [[1]]}) == []
    assert await codes({"query": "SELECT a FROM t"}) == []
    assert await codes({"query": "SELECT b::INTEGER FROM t"}) == [("/sql/expected/query", "sql_failed")]
    sneaky = "WITH a AS (SELECT 1) INSERT INTO t SELECT 1, 'x' FROM a"
    assert await codes({"query": sneaky}) == [("/sql/expected/query", "not_one_select")]
    broken = {"t": {"columns": {"a": "NOTYPE"}}}
    assert await codes({"query": "SELECT 1"}, broken) == [("/sql/tables", "sql_failed")]
    assert await SqlExtractor(runner=HERE).try_evaluation({}) == []


async def test_a_trial_that_cannot_run_says_so() -> None:
    for error in (QueryLost("killed"), SandboxUnavailable("off")):
        with pytest.raises(SandboxUnavailable):
            await SqlExtractor(runner=Failing(error)).try_evaluation({"sql": task({"query": "own"})})


def test_its_time_is_limited_where_there_are_data() -> None:
    assert SqlExtractor().max_seconds({"sql": {}}, None) == 0
    assert SqlExtractor().max_seconds({"sql": task({"rows": []})}, frozenset({METRIC})) == MAX_SECONDS
