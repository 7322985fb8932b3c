"""Workers without files, with a limit of processor time, and below another worker."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.confinement.settings import JobCrashed
from tests.libs.outcomes.confinement import jobs, nested
from tests.libs.outcomes.confinement.test_kills import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has these")
OPEN, NEST, LIMITS = (f"{nested.HERE}:{name}" for name in ("open_file", "run_nested", "read_limits"))


async def test_a_worker_without_files_opens_none(tmp_path: Path) -> None:
    target = tmp_path / "secret"
    target.write_text("x")
    where = {"file": str(target), "folder": "/usr"}
    async with WorkerPool(1, jobs=[OPEN], spares=0, files=False) as pool:
        assert await pool.run(OPEN, where) == {"status": 1, "read": 1, "folder": 1, "path": 1}


async def test_a_worker_ends_after_its_processor_time() -> None:
    async with WorkerPool(1, jobs=[nested.LOOP], spares=0, cpu_seconds=1) as pool:
        with pytest.raises(JobCrashed) as raised:
            await pool.run(nested.LOOP, {}, timeout_s=90)
    assert raised.value.exit_status == -signal.SIGXCPU


async def test_a_worker_of_a_worker_is_as_confined_as_one_of_the_service(tmp_path: Path) -> None:
    target = tmp_path / "victim"
    target.write_text("intact")
    attempts = {what: {"what": what, "path": str(target)} for what in jobs.ATTEMPTS}
    async with WorkerPool(1, jobs=[NEST], spares=0, children=True) as pool:
        answers = await pool.run(NEST, {"job": nested.ATTEMPT, "payloads": attempts, "files": False})
    assert {what for what, answer in answers.items() if answer["errno"] not in {1, 38}} == set()


async def test_a_worker_of_a_worker_has_no_more_memory_than_that_one() -> None:
    async with WorkerPool(1, memory_mb=256, jobs=[NEST, LIMITS], spares=0, children=True) as pool:
        own = await pool.run(LIMITS, {})
        less, more = [
            await pool.run(NEST, {"job": LIMITS, "payloads": {"only": {}}, "memory_mb": memory, "files": True})
            for memory in (64, 4_096)
        ]
    assert int(less["only"]["address_space"]) < int(own["address_space"])
    assert more["only"] == own


async def test_a_worker_of_a_killed_worker_ends() -> None:
    async with WorkerPool(1, jobs=[NEST], spares=0, children=True) as pool:
        running = asyncio.create_task(pool.run(NEST, {"job": nested.LOOP, "payloads": {"only": {}}, "files": False}))
        below: list[psutil.Process] = []

        def has_nested() -> bool:
            below[:] = [each for child in psutil.Process().children() for each in child.children()]
            return any(each.cpu_times().user > 0.2 for each in below)

        await until(has_nested)
        os.kill(below[0].ppid(), signal.SIGKILL)
        with pytest.raises(JobCrashed):
            await running
        await until(lambda: not any(each.is_running() for each in below))
