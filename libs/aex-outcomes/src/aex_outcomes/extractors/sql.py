"""Extractor that compares the result of an agent's query with the expected one."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aex_models.catalog import Cost, Direction, MetricEntry
from aex_models.grader_data import SqlTable, SqlTask
from aex_models.results import CUSTOM_METRIC_FAILED
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.protocol import AgentFault, Detailed, Metrics, MetricValue, PlatformFault
from aex_outcomes.extractors.sql_checks import check_sql_task
from aex_outcomes.extractors.text_quality import require_json_pointer
from aex_outcomes.json_values import MISSING, resolve_pointer
from aex_outcomes.kernels.sql_cells import interpret_expected_rows
from aex_outcomes.kernels.sql_results import match_results
from aex_outcomes.sandbox.port import SANDBOX_UNAVAILABLE, SandboxUnavailable
from aex_outcomes.sandbox.query_port import (
    MAX_ROWS,
    MAX_SQL_LENGTH,
    QUERY_SECONDS,
    QueryFailed,
    QueryFault,
    QueryLost,
    QueryResult,
    QueryRunner,
    QueryTable,
)
from aex_outcomes.sandbox.query_runner import MAX_SECONDS, DisposableQueryRunner

METRIC = "sql_result_match"
NOT_ONE_SELECT, SQL_FAILED = "not_one_select", "sql_failed"
QUERY_LOST = "query_lost"
"""Code of a criterion's error if the worker of a query was lost through no fault of the query."""
_WHY = {
    QueryFault.NOT_ONE_SELECT: "it is not exactly one SELECT statement",
    QueryFault.SYNTAX: "it has a syntax error",
    QueryFault.UNKNOWN_NAME: "a table, column or function is unknown, or does not accept its arguments",
    QueryFault.FORBIDDEN: "it needs files, extensions, other databases or settings",
    QueryFault.DATA: "a value cannot be converted or computed",
    QueryFault.TIMED_OUT: f"it takes more than {QUERY_SECONDS:g} s of processor time",
    QueryFault.OUT_OF_MEMORY: "it needs too much memory",
    QueryFault.TOO_MANY_ROWS: f"its result has more than {MAX_ROWS} rows",
    QueryFault.TOO_LARGE: "its result has too many bytes",
    QueryFault.CRASHED: "the database crashed while it ran",
    QueryFault.OTHER: "the database refused it",
    QueryFault.TABLES: "the tables cannot be created",
}
"""Reasons of failures, which quote neither the query nor the tables."""


@dataclass(frozen=True, slots=True)
class SqlExtractor:
    """Extractor of `sql_result_match`: the query at `query_pointer` returns the expected rows.

    Query and `expected.query` run on databases of their own in confined workers, so that neither can read the other or
    the expected rows.
    """

    query_pointer: str = "/sql"
    """JSON pointer to the query in the output, for data without an own `at`."""
    runner: QueryRunner = field(default_factory=DisposableQueryRunner)
    _named_pointer: str | None = None
    """Pointer of named data, which replaces the data's own `at`."""
    version = "1"

    def __post_init__(self) -> None:
        require_json_pointer(self.query_pointer)

    def at_pointer(self, pointer: str) -> "SqlExtractor":
        """Return an extractor that reads the query at this JSON pointer."""
        return replace(self, _named_pointer=pointer)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return whether the query's result is the expected one, or the fault for which it has none."""
        raw = task_input.get("sql")
        if raw is None:
            return {}
        task = SqlTask.model_validate(raw)
        pointer = next(each for each in (self._named_pointer, task.at, self.query_pointer) if each is not None)
        query = resolve_pointer(task_output, pointer)
        if query is MISSING:
            return {}
        return {METRIC: await self._compare(task, query)}

    async def _compare(self, task: SqlTask, query: Any) -> MetricValue:
        if not isinstance(query, str):
            return AgentFault("wrong_kind", "the query is no text")
        if len(query) > MAX_SQL_LENGTH:
            return AgentFault("text_too_long", f"the query has more than {MAX_SQL_LENGTH} characters")
        if not query.isascii() and query.encode("utf-8", "replace").decode() != query:
            return AgentFault("not_unicode", "the query holds lone surrogates")
        tables = _list_tables(task.tables)
        own, expected = await asyncio.gather(self._run_agent_query(query, tables), self._find_expected(task, tables))
        if isinstance(expected, PlatformFault):
            return expected
        if not isinstance(own, QueryResult):
            return own
        rows = expected.rows if task.expected.query else interpret_expected_rows(expected.rows, own.rows)
        names_match = [_fold(each) for each in own.columns] == [_fold(each) for each in expected.columns]
        is_match = (names_match or not task.names) and match_results(
            own.rows, rows, ordered=task.ordered, float_tol=float(task.float_tol)
        )
        return Detailed(
            is_match, {"rows": len(own.rows), "expected_rows": len(rows), "columns": list(own.columns)[:50]}
        )

    async def _run_agent_query(
        self, query: str, tables: Sequence[QueryTable]
    ) -> QueryResult | AgentFault | PlatformFault | Detailed:
        try:
            return await self.runner.run(query, tables)
        except QueryFailed as failure:
            if failure.fault is QueryFault.TABLES:
                return _to_platform_fault(failure, "sql.tables")
            code = NOT_ONE_SELECT if failure.fault is QueryFault.NOT_ONE_SELECT else SQL_FAILED
            fault = AgentFault(code, f"the query has no result: {_WHY[failure.fault]}")
            return Detailed(fault, {"error": failure.detail}) if failure.detail else fault
        except QueryLost as error:
            return PlatformFault(QUERY_LOST, str(error))
        except SandboxUnavailable as error:
            return PlatformFault(SANDBOX_UNAVAILABLE, str(error))

    async def _find_expected(self, task: SqlTask, tables: Sequence[QueryTable]) -> QueryResult | PlatformFault:
        expected = task.expected
        if expected.query is None:
            return QueryResult(tuple(expected.columns or ()), expected.rows or ())
        try:
            return await self.runner.run(expected.query, tables)
        except QueryFailed as failure:
            return _to_platform_fault(failure, "sql.expected.query")
        except QueryLost as error:
            return PlatformFault(QUERY_LOST, str(error))
        except SandboxUnavailable as error:
            return PlatformFault(SANDBOX_UNAVAILABLE, str(error))

    def supported_metrics(self) -> list[str]:
        return [METRIC]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entry of the metric, which is secret, because evaluation data determine it."""
        return (
            MetricEntry(
                name=METRIC,
                description="True if the query returns the expected rows.",
                unit="boolean",
                direction=Direction.HIGHER,
                metric_types=(MetricType.BOOLEAN,),
                needs=("sql",),
                secret=True,
                at=self.query_pointer,
                cost=Cost.SLOW,
                named=True,
            ),
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Yield the problems of tables and expected result that the model does not find."""
        return check_sql_task(evaluation.get("sql"))

    def max_seconds(self, task_input: Mapping[str, Any], metrics: frozenset[str] | None) -> float:
        """Return the time limit of both queries, which run at once."""
        del metrics
        return MAX_SECONDS if task_input.get("sql") else 0.0

    async def try_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Run `expected.query`, and return a problem if it has no result.

        Raises `SandboxUnavailable` if it cannot run now.
        """
        raw = evaluation.get("sql")
        task = SqlTask.model_validate(raw) if raw else None
        if task is None or task.expected.query is None:
            return []
        try:
            await self.runner.run(task.expected.query, _list_tables(task.tables))
        except QueryLost as error:
            raise SandboxUnavailable(str(error)) from None
        except QueryFailed as failure:
            path = "/sql/tables" if failure.fault is QueryFault.TABLES else "/sql/expected/query"
            code = NOT_ONE_SELECT if failure.fault is QueryFault.NOT_ONE_SELECT else SQL_FAILED
            return [Problem(path=path, code=code, message=f"The expected query has no result: {_WHY[failure.fault]}")]
        return []


def _list_tables(tables: Mapping[str, SqlTable]) -> list[QueryTable]:
    return [
        QueryTable(name, {column: table.columns[column] for column in table.column_order}, table.rows)
        for name, table in tables.items()
    ]


def _fold(name: str) -> str:
    return name.casefold()


def _to_platform_fault(failure: QueryFailed, subject: str) -> PlatformFault:
    detail = f" ({' '.join(failure.detail.split())})" if failure.detail else ""
    return PlatformFault(CUSTOM_METRIC_FAILED, f"{subject}: {_WHY[failure.fault]}{detail}")
