from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.confinement.settings import JobCrashed, JobFailed
from aex_outcomes.lifecycle.ruling import RULING
from tests.libs.outcomes.lifecycle.test_verifier_job import EXECUTION, SAMPLES, payload

JOB = "aex_outcomes.lifecycle.verifier_job:run_verifier"
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool(1, spares=0, jobs=[JOB], warm=[SAMPLES], max_result_bytes=16 << 20) as pool:
        yield pool


async def test_an_async_verifier_runs_in_the_worker(pool: WorkerPool) -> None:
    answer = await pool.run(JOB, payload("verify_summary", {"text": "fine"}, EXECUTION))
    assert RULING.validate_python(answer).ruling == "accepted"


async def test_large_numbers_pass_the_workers_strict_reader(pool: WorkerPool) -> None:
    answer = await pool.run(JOB, payload("returning", "large_float"))
    assert answer["final_result"] == {"a": 1e17}
    feedback = await pool.run(JOB, payload("rejecting", "nan"))
    assert feedback["rejection"]["metadata"]["b"][2] == 1e17


async def test_the_biggest_final_result_fits(pool: WorkerPool) -> None:
    answer = await pool.run(JOB, payload("returning", "as_big_as_it_may_be"))
    assert len(answer["final_result"]) == 9_999_998


async def test_failures_are_reported_by_their_kind_and_crashes_survived(pool: WorkerPool) -> None:
    with pytest.raises(JobFailed) as failed:
        await pool.run(JOB, payload("returning", "nan"))
    assert failed.value.kind == "FinalResultRefused"
    with pytest.raises(JobFailed) as failed:
        await pool.run(JOB, {**payload("returning", "none"), "name": "other"})
    assert failed.value.kind == "UnknownVerifier"
    with pytest.raises(JobCrashed):
        await pool.run(JOB, payload("leaving", "x"))
    assert (await pool.run(JOB, payload("returning", "none")))["final_result"] is None


async def test_a_task_that_will_not_end_costs_a_pass_nothing(pool: WorkerPool) -> None:
    for _ in range(2):
        answer = await pool.run(JOB, payload("lingering", "stubborn"), timeout_s=5)
        assert answer["final_result"] == "stubborn"
