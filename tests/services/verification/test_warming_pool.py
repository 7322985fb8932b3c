"""The workers for candidates: warmed up beside the service, waited for by the first jobs, and no half of them left."""

import asyncio
import os
from typing import Any

import pytest

from aex_outcomes.confinement.errors import PoolClosed, WorkersUnavailable
from aex_verification.judge import JOB
from aex_verification.pools import candidate_pool
from aex_verification.settings import Settings
from aex_verification.warming_pool import WarmingPool
from tests.libs.outcomes.confinement.service import children_of
from tests.libs.runtime.http.sample import until

NEVER_S = 600.0


class Pool:
    """Starts when `may_start`, or fails with `fails`."""

    def __init__(self) -> None:
        self.may_start = asyncio.Event()
        self.fails: Exception | None = None
        self.starts = 0
        self.closed = False

    async def start(self) -> None:
        self.starts += 1
        await self.may_start.wait()
        if self.fails is not None:
            raise self.fails

    async def close(self) -> None:
        self.closed = True

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        if self.closed:
            raise PoolClosed("the pool is closed")
        return {"job": job, "payload": payload, "timeout_s": timeout_s, "lane": lane}


async def test_a_job_starts_the_workers_at_once_and_waits_for_them() -> None:
    pool = Pool()
    async with WarmingPool(pool, NEVER_S) as warming:
        await asyncio.sleep(0)
        assert pool.starts == 0
        job = asyncio.create_task(warming.run("j", {"a": 1}, 2.0, lane="acme"))
        await until(lambda: pool.starts == 1)
        assert not job.done()
        assert warming.missing is None
        pool.may_start.set()
        assert await job == {"job": "j", "payload": {"a": 1}, "timeout_s": 2.0, "lane": "acme"}
    assert (pool.starts, pool.closed) == (1, True)


async def test_workers_are_warmed_without_a_job() -> None:
    pool = Pool()
    pool.may_start.set()
    async with WarmingPool(pool, 0.0):
        await until(lambda: pool.starts == 1)


@pytest.mark.parametrize("error", [WorkersUnavailable("No module named 'x'"), OSError("no room")])
async def test_workers_that_cannot_be_started_are_missing_and_their_jobs_are_not_failed(error: Exception) -> None:
    pool = Pool()
    pool.fails = error
    pool.may_start.set()
    async with WarmingPool(pool, 0.0) as warming:
        job = asyncio.create_task(warming.run("j", {}))
        await until(lambda: warming.missing is not None)
        assert warming.missing == "no worker can be started"
        assert not job.done()
    with pytest.raises(PoolClosed):
        await job


async def test_a_stop_during_the_warm_up_leaves_no_process_behind() -> None:
    before = children_of(os.getpid())
    async with WarmingPool(candidate_pool(Settings(workers=1)), 0.0) as warming:
        job = asyncio.create_task(warming.run(JOB, {}))
        await until(lambda: bool(children_of(os.getpid()) - before))
    with pytest.raises(PoolClosed):
        await job
    assert children_of(os.getpid()) <= before
