"""Queries in confined workers of their own."""

import asyncio
import os
import signal
import sys
from typing import Any

import psutil
import pytest

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.confinement.settings import JobCrashed, JobOutOfMemory, JobTimeout, WorkersUnavailable
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_outcomes.sandbox.query_port import QueryFailed, QueryFault, QueryLost, QueryTable
from aex_outcomes.sandbox.query_runner import DisposableQueryRunner

TABLES = [QueryTable("t", {"a": "INTEGER"}, [[1], [2]])]


def scripted(*outcomes: Any) -> DisposableQueryRunner:
    """Runner whose workers answer or fail as told."""
    left = list(outcomes)

    async def run_job(payload: dict[str, Any]) -> dict[str, Any]:
        del payload
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return dict(outcome)

    return DisposableQueryRunner(run_job)


GOOD = {"columns": ["a"], "rows": "[[1]]"}
KILLED, SEGFAULT = JobCrashed("x", -signal.SIGKILL), JobCrashed("x", -signal.SIGSEGV)


@pytest.mark.parametrize(
    ("outcomes", "fault"),
    [
        ([SEGFAULT, SEGFAULT], QueryFault.CRASHED),
        ([KILLED, SEGFAULT], QueryFault.CRASHED),
        ([JobCrashed("answered garbage"), JobCrashed("answered garbage")], QueryFault.CRASHED),
        ([JobCrashed("x", -signal.SIGPROF)], QueryFault.TIMED_OUT),
        ([JobCrashed("x", -signal.SIGXCPU)], QueryFault.TABLES),
        ([JobTimeout("x", 10.5)], QueryFault.TIMED_OUT),
        ([JobOutOfMemory("x")], QueryFault.OUT_OF_MEMORY),
        ([{"fault": "syntax", "detail": "d"}], QueryFault.SYNTAX),
        ([{"fault": "invented"}], QueryFault.OTHER),
        ([{"fault": ["syntax"], "detail": 5}], QueryFault.OTHER),
        ([{}], QueryFault.CRASHED),
        ([{"columns": 5, "rows": "[]"}], QueryFault.CRASHED),
        ([{"columns": ["a"], "rows": "[[1, 2]]"}], QueryFault.CRASHED),
        ([{"columns": ["a"], "rows": "{"}], QueryFault.CRASHED),
        ([{"columns": ["a"], "rows": '[[{"number": "x"}]]'}], QueryFault.CRASHED),
        ([{"columns": ["a"], "rows": "[[" + "[" * 100_000}], QueryFault.CRASHED),
        ([{"columns": ["a"], "rows": "[[" + "9" * 5_000 + "]]"}], QueryFault.CRASHED),
    ],
)
async def test_what_a_query_does_to_its_worker_is_its_fault(outcomes: list[Any], fault: QueryFault) -> None:
    with pytest.raises(QueryFailed) as raised:
        await scripted(*outcomes).run("SELECT 1", TABLES)
    assert raised.value.fault is fault


@pytest.mark.parametrize(
    ("outcomes", "error"),
    [
        ([KILLED, KILLED], QueryLost),
        ([SEGFAULT, JobCrashed("x", -signal.SIGTERM)], QueryLost),
        ([JobTimeout("x", 3.0)], QueryLost),
        ([WorkersUnavailable("no process")] * 2, SandboxUnavailable),
    ],
)
async def test_a_failure_of_the_platform_is_not_the_querys_fault(outcomes: list[Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        await scripted(*outcomes).run("SELECT 1", TABLES)


@pytest.mark.parametrize("first", [KILLED, SEGFAULT, WorkersUnavailable("the worker ended")])
async def test_a_lost_worker_is_replaced_once(first: Exception) -> None:
    assert (await scripted(first, GOOD).run("SELECT 1", TABLES)).rows == [[1]]


async def test_a_killed_worker_does_not_change_the_result() -> None:
    async def kill_first() -> None:
        found: list[psutil.Process] = []
        while not found:
            await asyncio.sleep(0.01)
            found = [each for each in psutil.Process().children() if each.cpu_times().user > 0.05]
        os.kill(found[0].pid, signal.SIGKILL)

    killing = asyncio.create_task(kill_first())
    found = await DisposableQueryRunner().run("SELECT sum(a) AS s FROM t, range(30000000)", TABLES)
    await killing
    assert [list(map(int, row)) for row in found.rows] == [[90_000_000]]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone confines so")
async def test_a_query_has_no_more_rights_below_a_sandbox_worker() -> None:
    async with WorkerPool(1, 120, 1_024, jobs=[BELOW], spares=0, children=True) as pool:
        assert await pool.run(BELOW, {}) == {"sum": "3", "fault": "forbidden"}


BELOW = f"{__name__}:run_below"


async def run_below(payload: dict[str, Any]) -> dict[str, Any]:
    del payload
    runner = DisposableQueryRunner()
    good = await runner.run("SELECT sum(a) FROM t", TABLES)
    try:
        await runner.run("SELECT * FROM read_text('/etc/passwd')", TABLES)
    except QueryFailed as failure:
        return {"sum": str(good.rows[0][0]), "fault": failure.fault.value}
    return {}
