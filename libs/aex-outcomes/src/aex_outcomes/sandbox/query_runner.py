"""Runner of untrusted queries that starts a confined worker for each.

The worker gets the query and its tables, and nothing of the expected result. It opens no file and no socket, and starts
no process. Its answer is read as one of a hostile process.
"""

import json
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_outcomes.kernels.sql_cells import decode_cell
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_outcomes.sandbox.query_port import (
    MAX_ROWS,
    QUERY_SECONDS,
    QueryFailed,
    QueryFault,
    QueryLost,
    QueryResult,
    QueryTable,
)

JOB = "aex_outcomes.sandbox.query_job:run_query"
MAX_SECONDS = 120.0
"""Seconds after which `run` ends: two attempts, each with the start of a worker."""
MEMORY_MB = 768
"""Megabytes of the worker beyond those it uses before the query."""
_WARM = ("duckdb", "datetime", "decimal", "uuid", "zoneinfo")
"""Modules that the database imports late, when the worker can open no file."""
_TIMEOUT_S, _START_S = 60.0, 20.0
_CPU_SECONDS = 40
"""Processor time of the worker, most of it to create tables."""
_MAX_ANSWER_BYTES = 40 * 1024 * 1024
_BLAMELESS = frozenset({-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP})
"""Exit statuses of workers that another process ended."""
_OUT_OF_TIME = {-signal.SIGPROF: QueryFault.TIMED_OUT, -signal.SIGXCPU: QueryFault.TABLES}
"""Faults of workers that ended after their processor time: for the query, or for all."""


async def run_in_new_worker(payload: dict[str, Any]) -> dict[str, Any]:
    """Run the job in a new worker, which takes a third of a second to start. Raises as `WorkerPool`."""
    from aex_outcomes.confinement.pool import WorkerPool  # noqa: PLC0415 workers that run no query need no pool

    pool = WorkerPool(
        1,
        _TIMEOUT_S,
        MEMORY_MB,
        jobs=[JOB],
        warm=_WARM,
        spares=0,
        start_timeout_s=_START_S,
        max_result_bytes=_MAX_ANSWER_BYTES,
        files=False,
        cpu_seconds=_CPU_SECONDS,
    )
    async with pool:
        return await pool.run(JOB, payload)


@dataclass(frozen=True, slots=True)
class DisposableQueryRunner:
    """Runner that starts a new worker for each query. A worker that is lost is replaced once."""

    run_job: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]] = run_in_new_worker
    """Function that runs the job in a worker of its own."""

    async def run(self, query: str, tables: Sequence[QueryTable]) -> QueryResult:
        """Run a query; see `QueryRunner.run`."""
        from aex_outcomes.confinement import settings as errors  # noqa: PLC0415 not needed before the first query

        listed = [{"name": each.name, "columns": dict(each.columns), "rows": each.rows} for each in tables]
        status: int | None = None
        not_started = ""
        for _ in range(2):
            try:
                return _read_answer(await self.run_job({"query": query, "tables": listed}))
            except errors.JobTimeout as error:
                if error.cpu_seconds is None or error.cpu_seconds >= QUERY_SECONDS:
                    raise QueryFailed(QueryFault.TIMED_OUT) from None
                raise QueryLost("the machine is too busy for the query") from None
            except errors.JobOutOfMemory:
                raise QueryFailed(QueryFault.OUT_OF_MEMORY) from None
            except errors.JobCrashed as error:
                status = error.exit_status
                if status in _OUT_OF_TIME:
                    raise QueryFailed(_OUT_OF_TIME[status]) from None
            except errors.WorkersUnavailable as error:
                not_started = str(error)
        if not_started:
            raise SandboxUnavailable(f"a worker for queries cannot be started: {not_started}")
        if status in _BLAMELESS:
            raise QueryLost("the worker of a query was killed, twice")
        raise QueryFailed(QueryFault.CRASHED)


def _read_answer(answer: Mapping[str, Any]) -> QueryResult:
    """Return the result in a worker's answer, which may be hostile. Raises `QueryFailed`."""
    fault = answer.get("fault")
    if fault is not None:
        detail = answer.get("detail")
        known = fault if fault in list(QueryFault) else QueryFault.OTHER
        raise QueryFailed(QueryFault(known), detail if isinstance(detail, str) else "")
    try:
        columns, rows = tuple(map(str, answer["columns"])), json.loads(answer["rows"])
        if len(rows) > MAX_ROWS or any(len(row) != len(columns) for row in rows):
            raise ValueError("rows of another length")  # noqa: TRY301 one way out for all
        return QueryResult(columns, [[decode_cell(cell) for cell in row] for row in rows])
    except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
        raise QueryFailed(QueryFault.CRASHED) from None
