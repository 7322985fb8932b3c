import asyncio
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from aex_models.examination import DataOwner
from aex_models.science import Science
from aex_outcomes.config import OutcomeConfig
from aex_outcomes.confinement.settings import PoolClosed, WorkersUnavailable
from aex_outcomes.science.confined import ConfinedExaminer, DataLimits, ExaminationRequest
from aex_outcomes.science.source_files import SourceFile
from aex_verification.grading import JOB
from aex_verification.pools import PrewarmedPool, make_candidate_pool, make_science_pool
from aex_verification.settings import Settings
from tests.libs.outcomes.confinement.service import children_of
from tests.libs.runtime.http.sample import until
from tests.services.verification.examined import TABLE, science

NEVER_S = 600.0


class Pool:
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
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        if self.closed:
            raise PoolClosed("the pool is closed")
        return {"job": job, "payload": payload, "timeout_s": timeout_s, "queue": queue}


async def test_job_starts_the_workers_and_waits_for_them() -> None:
    pool = Pool()
    async with PrewarmedPool(pool, NEVER_S) as warming:
        await asyncio.sleep(0)
        assert pool.starts == 0
        job = asyncio.create_task(warming.run("j", {"a": 1}, 2.0, queue="acme"))
        await until(lambda: pool.starts == 1)
        assert not job.done()
        assert warming.missing is None
        pool.may_start.set()
        assert await job == {"job": "j", "payload": {"a": 1}, "timeout_s": 2.0, "queue": "acme"}
    assert (pool.starts, pool.closed) == (1, True)


@pytest.mark.parametrize("error", [WorkersUnavailable("No module named 'x'"), OSError("no room")])
async def test_failed_start_leaves_jobs_waiting(error: Exception) -> None:
    pool = Pool()
    pool.fails = error
    pool.may_start.set()
    async with PrewarmedPool(pool, 0.0) as warming:
        job = asyncio.create_task(warming.run("j", {}))
        await until(lambda: warming.missing is not None)
        assert warming.missing == "no worker can be started"
        assert not job.done()
    with pytest.raises(PoolClosed):
        await job


async def test_stop_during_the_warm_up_leaves_no_process() -> None:
    before = children_of(os.getpid())
    async with PrewarmedPool(make_candidate_pool(Settings(workers=1)), 0.0) as warming:
        job = asyncio.create_task(warming.run(JOB, {}))
        await until(lambda: bool(children_of(os.getpid()) - before))
    with pytest.raises(PoolClosed):
        await job
    assert children_of(os.getpid()) <= before


@pytest.fixture
def scores(tmp_path: Path) -> str:
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    path = tmp_path / "scores.csv"
    path.write_text(TABLE)
    return str(path)


async def test_first_examination_starts_a_worker_and_leaves_none(scores: str) -> None:
    before = len(psutil.Process().children())
    limits = OutcomeConfig().extractor_sections()["statistics"].sandbox
    async with make_science_pool(Settings(science_workers=1), limits) as pool:
        assert len(psutil.Process().children()) == before
        file = SourceFile("scores.csv", "text/csv", scores, DataOwner.AGENT)
        request = ExaminationRequest(
            "acme", Science.model_validate(science()), None, {"mean_fitness": "-0.40"}, (file,)
        )
        found = await ConfinedExaminer(pool, DataLimits()).examine_with_retries(request)
        assert [each.value for each in found.recomputed] == [pytest.approx(-0.4)]
        assert len(psutil.Process().children()) == before + 1
    assert len(psutil.Process().children()) == before
