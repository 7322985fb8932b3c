"""Hostile SQL of an agent reads no file, harms no other criterion, and is unmet with a code."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from aex_models.examination import Fault
from aex_models.results import CriterionResult
from aex_outcomes.confinement.pool import WorkerPool

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

JOB = "aex_outcomes.engine.job:verify_candidate"
CANARY = "zqxsqlbird"
SQL = {
    "tables": {"secrets": {"columns": {"a": "INTEGER", "b": "VARCHAR"}, "rows": [[1, CANARY], [2, None]]}},
    "expected": {"query": "SELECT 4711 AS answer"},
}
NOT_ONE = [
    "SELECT 1; SELECT 2",
    "SELECT 4711; COPY secrets TO '{folder}/out.csv'",
    "COPY secrets TO '{folder}/out.csv'",
    "COPY secrets FROM '/etc/passwd'",
    "ATTACH '{folder}/x.db'",
    "ATTACH 'https://example.com/x.db'",
    "INSTALL httpfs",
    "LOAD '{folder}/x.duckdb_extension'",
    "PRAGMA enable_external_access",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPORT DATABASE '{folder}/out'",
    "CREATE TABLE x AS SELECT 1",
    "WITH a AS (SELECT 1) INSERT INTO secrets SELECT 1, 'x' FROM a",
    "CALL enable_logging()",
    "",
    ";;",
]
FORBIDDEN = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_text('/proc/self/environ')",
    "SELECT * FROM read_blob('/proc/self/mem')",
    "SELECT * FROM read_json('{file}')",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM parquet_metadata('{file}')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM read_csv('https://example.com/x.csv')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT getenv('AEX_CANARY')",
    "SELECT * FROM query('COPY secrets TO ''{folder}/out.csv''')",
    "SELECT * FROM query('SELECT * FROM read_text(''{file}'')')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''{file}'')'))",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM pandas_scan(0)",
    "SELECT * FROM enable_logging()",
    "SELECT error((SELECT b FROM secrets LIMIT 1))",
    "SELECT CAST(b AS INTEGER) FROM secrets",
]
EXHAUSTING = [
    "SELECT count(*) FROM range(1000000) a, range(1000000) b",
    "SELECT pg_sleep(1000)",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r, range(1000)) SELECT count(*) FROM r",
    "SELECT repeat('x', 1000000000)",
    "SELECT length(repeat(repeat('x', 10000000), 1000))",
    "SELECT * FROM range(1000000000000)",
    "SELECT range(1000000000000)",
    "SELECT list(range) FROM range(1000000000)",
    "SELECT repeat('x', 1000000) FROM range(100)",
    "SELECT levenshtein(repeat('a', 100000), repeat('b', 100000))",
    "SELECT printf('%1000000000d', 1)",
    "SELECT regexp_replace(repeat('a', 10000000), 'a', 'bbbbbbbbbbbbbbbbbbbb', 'g')",
    "SELECT " + "(" * 30_000 + "1" + ")" * 30_000,
    "SELECT " + "NOT " * 20_000 + "true",
    "SELECT " + "+".join(["1"] * 40_000),
    "FROM secrets SELECT " + ", ".join(["a"] * 30_000),
]
HARMLESS = [
    "SELECT current_setting('enable_external_access')",
    "SELECT count(*) FROM duckdb_settings()",
    "SELECT count(*) FROM information_schema.tables",
    "SELECT * FROM secrets",
    "SELECT * FROM pragma_database_size()",
    "SELECT 4712",
]
"""Queries that run and do not match."""
LISTS = {"not_one_select": NOT_ONE, "sql_failed": [*FORBIDDEN, *EXHAUSTING], "": HARMLESS}
CASES = [pytest.param(query, code, id=f"{query[:60]}") for code, queries in LISTS.items() for query in queries]


def payload(query: str) -> dict[str, Any]:
    criteria = [
        {"metric": "sql_result_match", "metric_type": "boolean", "comparison": "eq", "threshold": True},
        {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 2},
    ]
    return {
        "contract_id": "ctr_1",
        "success_criteria": {"criteria": criteria},
        "work_input": {},
        "evaluation": {"sql": SQL},
        "output": {"text": "two words", "sql": query},
        "execution_metadata": {},
        "platform_latency_ms": 1,
        "config": None,
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[WorkerPool]:
    """Workers as a service has them for slow metrics."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AEX_CANARY", CANARY)
        async with WorkerPool(
            1, 240, 1_024, jobs=[JOB], warm=["re2"], spares=0, children=True, max_result_bytes=1 << 24
        ) as opened:
            yield opened


async def grade(pool: WorkerPool, query: str) -> tuple[CriterionResult, CriterionResult]:
    answer = await pool.run(JOB, payload(query))
    sql, words = (CriterionResult.model_validate(each) for each in answer["result"]["criterion_results"])
    assert CANARY not in str(answer["result"]["criterion_results"])
    return sql, words


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that every user may change; it must stay as it is."""
    file = tmp_path / "canary.csv"
    file.write_text(f"a\n{CANARY}\n", encoding="ascii")
    tmp_path.chmod(0o777)
    yield tmp_path
    assert [each.name for each in tmp_path.iterdir()] == [file.name]
    assert file.read_text(encoding="ascii") == f"a\n{CANARY}\n"


@pytest.mark.parametrize(("query", "code"), CASES)
async def test_hostile_query_is_unmet_and_harms_nothing(pool: WorkerPool, query: str, code: str, folder: Path) -> None:
    sql, words = await grade(pool, query.replace("{file}", f"{folder}/canary.csv").replace("{folder}", str(folder)))
    assert (sql.met, words.met) == (False, True)
    assert ("" if sql.error is None else sql.error.code) == code
    assert sql.error is None or sql.error.fault is Fault.AGENT


async def test_an_honest_query_is_met_after_all_of_them(pool: WorkerPool) -> None:
    sql, words = await grade(pool, "SELECT 4711")
    assert (sql.met, words.met, pool.alive_workers) == (True, True, 1)
