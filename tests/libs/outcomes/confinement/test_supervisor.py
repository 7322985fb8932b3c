import os
from pathlib import Path

import pytest

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.confinement.settings import JobTimeout
from aex_outcomes.confinement.supervisor import read_cpu_seconds
from tests.libs.outcomes.confinement.service import JOBS

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="a system that does not tell")


def test_use_grows_with_work_and_an_unknown_process_has_none() -> None:
    before = read_cpu_seconds(os.getpid())
    assert before is not None
    sum(place * place for place in range(3_000_000))
    after = read_cpu_seconds(os.getpid())
    assert after is not None
    assert after > before
    assert read_cpu_seconds(2**22 + 1) is None


async def test_a_killed_job_is_reported_with_what_it_used_and_not_with_what_others_kept_from_it() -> None:
    used = []
    jobs = [JOBS + "who", JOBS + "loop"]
    async with WorkerPool(1, jobs=jobs, memory_mb=128, grace_s=0, nice=0) as pool:
        for job, payload in ((jobs[1], {}), (jobs[0], {"sleep_s": 60})):
            with pytest.raises(JobTimeout) as killed:
                await pool.run(job, payload, timeout_s=1.0)
            used.append(killed.value.cpu_seconds)
    busy, kept_waiting = used
    assert busy is not None
    assert kept_waiting is not None
    assert kept_waiting < 0.05 < busy
