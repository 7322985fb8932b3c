import asyncio
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.confinement.settings import (
    JobCrashed,
    JobFailed,
    JobNotAllowed,
    JobTimeout,
    PoolBusy,
    PoolClosed,
    WorkersUnavailable,
)
from tests.libs.outcomes.confinement.service import JOBS, children_of

NAMES = ("echo", "who", "hold", "fail", "exit_interpreter", "not_json", "not_a_dict", "big_integer", "chatter")
ALL = [JOBS + name for name in (*NAMES, "huge", "leak", "warmed", "use_thread", "loop")]


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool(2, jobs=ALL, memory_mb=256) as opened:
        yield opened


async def start_holding(pool: WorkerPool, file: str, tags: Iterable[int]) -> list[asyncio.Task[dict[str, Any]]]:
    """Submit jobs that run until the file is deleted."""
    runs = (pool.run(JOBS + "hold", {"file": file, "tag": tag}, timeout_s=600) for tag in tags)
    jobs = [asyncio.create_task(run) for run in runs]
    await asyncio.sleep(0)  # each task runs up to its submission; no answer is read in between
    return jobs


async def test_a_job_returns_what_its_function_returned(pool: WorkerPool) -> None:
    payload = {"text": "naïve 文 \n\u0000", "numbers": [1, -2.5, 1e-9], "nothing": None, "deep": {"a": [{"b": True}]}}
    assert await pool.run(JOBS + "echo", payload) == payload


async def test_a_job_may_use_threads(pool: WorkerPool) -> None:
    assert await pool.run(JOBS + "use_thread", {"value": 7}) == {"seen": [7]}


async def test_only_listed_jobs_run(pool: WorkerPool) -> None:
    for name in (JOBS + "exit_hard", "os:system", ""):
        with pytest.raises(JobNotAllowed):
            await pool.run(name, {})


async def test_an_exception_comes_back_by_kind_and_message_and_the_worker_lives_on(pool: WorkerPool) -> None:
    before = children_of(os.getpid())
    with pytest.raises(JobFailed) as caught:
        await pool.run(JOBS + "fail", {"message": "no such label"})
    assert (caught.value.kind, caught.value.message) == ("ValueError", "no such label")
    assert children_of(os.getpid()) == before


async def test_a_long_or_invalid_message_is_cut_and_made_printable(pool: WorkerPool) -> None:
    with pytest.raises(JobFailed) as caught:
        await pool.run(JOBS + "fail", {"message": "é" * 5_000})
    assert caught.value.message == "é" * 2_000


async def test_leaving_the_interpreter_politely_is_a_failure_of_the_job_alone(pool: WorkerPool) -> None:
    before = children_of(os.getpid())
    with pytest.raises(JobFailed, match="SystemExit"):
        await pool.run(JOBS + "exit_interpreter", {"status": 3})
    assert children_of(os.getpid()) == before


@pytest.mark.parametrize("what", ["nan", "object", "surrogate"])
async def test_a_result_that_is_not_json_fails_the_job(pool: WorkerPool, what: str) -> None:
    with pytest.raises(JobFailed):
        await pool.run(JOBS + "not_json", {"what": what})


async def test_an_integer_that_json_cannot_hold_is_taken_for_hostile(pool: WorkerPool) -> None:
    with pytest.raises(JobCrashed, match="integer"):
        await pool.run(JOBS + "big_integer", {})
    assert await pool.run(JOBS + "echo", {}) == {}


@pytest.mark.parametrize("payload", [{"a": float("nan")}, {"a": object()}, {"a": "\ud800"}])
async def test_a_payload_that_is_not_json_is_the_callers_error(pool: WorkerPool, payload: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        await pool.run(JOBS + "echo", payload)


async def test_what_a_job_prints_goes_nowhere(pool: WorkerPool) -> None:
    assert await pool.run(JOBS + "chatter", {"a": 1}) == {"stdin": "", "a": 1}


async def test_big_payloads_and_results_pass() -> None:
    payload = {"text": "x文" * 500_000, "rows": [{"id": str(n), "value": n / 7} for n in range(20_000)]}
    async with WorkerPool(1, jobs=ALL, max_result_bytes=8 << 20, spares=0) as pool:
        assert await pool.run(JOBS + "echo", payload) == payload


async def test_a_result_above_the_limit_is_refused_unread_and_its_worker_replaced() -> None:
    async with WorkerPool(1, jobs=ALL, max_result_bytes=10_000, spares=0) as pool:
        assert len((await pool.run(JOBS + "huge", {"bytes": 9_000}))["text"]) == 9_000
        before = await pool.run(JOBS + "who", {})
        with pytest.raises(JobCrashed, match="above the limit of 10000"):
            await pool.run(JOBS + "huge", {"bytes": 50_000_000})
        assert await pool.run(JOBS + "who", {}) != before


async def test_a_hundred_jobs_at_once_on_two_workers_each_get_their_own_answer(pool: WorkerPool) -> None:
    answers = await asyncio.gather(*(pool.run(JOBS + "who", {"tag": n, "sleep_s": 0.002}) for n in range(100)))
    assert [answer["tag"] for answer in answers] == list(range(100))
    assert len({answer["pid"] for answer in answers}) == 2


async def test_no_more_jobs_run_at_once_than_the_size(pool: WorkerPool) -> None:
    with tempfile.NamedTemporaryFile() as file:
        jobs = await start_holding(pool, file.name, range(6))
        assert (pool.running_jobs, pool.waiting_jobs, pool.alive_workers) == (2, 4, 3)
    await asyncio.gather(*jobs)
    assert (pool.running_jobs, pool.waiting_jobs) == (0, 0)


async def test_a_full_queue_refuses_at_once_and_recovers() -> None:
    async with WorkerPool(1, jobs=ALL, queue_limit=2, spares=0) as pool:
        with tempfile.NamedTemporaryFile() as file:
            jobs = await start_holding(pool, file.name, range(3))
            with pytest.raises(PoolBusy):
                await pool.run(JOBS + "who", {})
        assert [answer["tag"] for answer in await asyncio.gather(*jobs)] == [0, 1, 2]
        assert await pool.run(JOBS + "echo", {}) == {}


async def test_a_queue_with_many_jobs_does_not_hold_up_another() -> None:
    finished: list[str] = []

    async def one(pool: WorkerPool, queue: str) -> None:
        await pool.run(JOBS + "who", {}, queue=queue)
        finished.append(queue)

    async with WorkerPool(1, jobs=ALL, spares=0) as pool:
        many = [asyncio.create_task(one(pool, "many")) for _ in range(20)]
        await asyncio.sleep(0)  # all are submitted, and no answer was read
        await asyncio.gather(*many, one(pool, "one"))
    assert finished.index("one") == 2


async def test_a_job_cancelled_while_it_waits_never_runs_and_the_others_do(pool: WorkerPool) -> None:
    with tempfile.NamedTemporaryFile() as file:
        running = await start_holding(pool, file.name, range(2))
        waiting = asyncio.create_task(pool.run(JOBS + "loop", {}))
        last = asyncio.create_task(pool.run(JOBS + "who", {"tag": "last"}))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert pool.waiting_jobs == 1
    assert [answer["tag"] for answer in await asyncio.gather(*running, last)] == [0, 1, "last"]


async def test_answers_are_never_mixed_up_by_cancelled_jobs() -> None:
    async with WorkerPool(1, jobs=ALL, spares=0) as pool:
        for round_ in range(20):
            given_up = asyncio.create_task(pool.run(JOBS + "who", {"tag": f"given up {round_}", "sleep_s": 0.005}))
            await asyncio.sleep(0)
            given_up.cancel()
            assert (await pool.run(JOBS + "who", {"tag": round_}))["tag"] == round_


async def test_the_modules_of_the_jobs_and_those_to_warm_are_imported_before_the_first_job() -> None:
    async with WorkerPool(1, jobs=[JOBS + "warmed"], warm=["colorsys"], spares=0) as pool:
        answer = await pool.run(JOBS + "warmed", {"modules": ["colorsys", "wave"]})
    assert answer == {"colorsys": True, "wave": False}


async def test_a_worker_is_replaced_after_its_share_of_jobs() -> None:
    async with WorkerPool(1, jobs=ALL, max_jobs=3) as pool:
        served = Counter([(await pool.run(JOBS + "who", {}))["pid"] for _ in range(12)])
    assert set(served.values()) == {3}
    assert len(served) == 4


async def test_a_worker_that_may_start_processes_is_replaced_sooner() -> None:
    async with WorkerPool(1, jobs=ALL, spares=0, children=True) as pool:
        served = Counter([(await pool.run(JOBS + "who", {}))["pid"] for _ in range(1_010)])
    assert sorted(served.values()) == [10, 1_000]


async def test_a_worker_that_has_grown_is_replaced_after_its_answer() -> None:
    async with WorkerPool(1, jobs=ALL, memory_mb=256, retire_above_mb=20, spares=0) as pool:
        first = [(await pool.run(JOBS + "leak", {"bytes": 8 << 20}))["pid"] for _ in range(4)]
        assert first[0] == first[1] == first[2]
        assert first[3] != first[0]


async def test_closing_ends_running_and_waiting_jobs_and_leaves_no_process() -> None:
    before = children_of(os.getpid())
    pool = WorkerPool(2, jobs=ALL)
    await pool.start()
    workers = children_of(os.getpid()) - before
    assert len(workers) == 3
    jobs = [asyncio.create_task(pool.run(JOBS + "loop", {})) for _ in range(4)]
    await asyncio.sleep(0)
    await pool.close()
    assert all(isinstance(end, PoolClosed) for end in await asyncio.gather(*jobs, return_exceptions=True))
    assert not workers & children_of(os.getpid())
    with pytest.raises(PoolClosed):
        await pool.run(JOBS + "echo", {})
    await pool.close()


async def test_closing_while_workers_are_being_replaced_leaves_no_process() -> None:
    before = children_of(os.getpid())
    pool = WorkerPool(2, jobs=ALL, grace_s=0)
    await pool.start()
    jobs = (pool.run(JOBS + "loop", {}, timeout_s=0.01) for _ in range(2))
    ends = await asyncio.gather(*jobs, return_exceptions=True)
    assert [type(end) for end in ends] == [JobTimeout, JobTimeout]
    await pool.close()
    assert children_of(os.getpid()) == before


async def test_a_job_that_cannot_be_imported_is_reported_at_the_start() -> None:
    for name, reason in (("no_such_module:job", "ModuleNotFoundError"), (JOBS + "nowhere", "AttributeError")):
        before = children_of(os.getpid())
        with pytest.raises(WorkersUnavailable, match=reason):
            async with WorkerPool(2, jobs=[name]):
                pass
        assert children_of(os.getpid()) == before


async def test_when_no_worker_starts_any_more_jobs_are_reported_so_and_served_later_once_one_does(
    tmp_path: Path,
) -> None:
    module = tmp_path / "fragile_jobs.py"
    module.write_text("import os\ndef die(_): os._exit(1)\ndef live(_): return {}\n")
    sys.path.insert(0, str(tmp_path))
    try:
        jobs = ["fragile_jobs:die", "fragile_jobs:live"]
        async with WorkerPool(1, jobs=jobs, spares=0, start_pause_s=0.001) as pool:
            await asyncio.to_thread(module.rename, tmp_path / "away.py")
            with pytest.raises(JobCrashed):
                await pool.run("fragile_jobs:die", {})
            with pytest.raises(WorkersUnavailable, match="fragile_jobs"):
                await pool.run("fragile_jobs:live", {})
            assert pool.alive_workers == 0
            await asyncio.to_thread((tmp_path / "away.py").rename, module)
            assert await pool.run("fragile_jobs:live", {}) == {}
    finally:
        sys.path.remove(str(tmp_path))


async def test_a_worker_that_takes_too_long_to_start_is_reported() -> None:
    before = children_of(os.getpid())
    with pytest.raises(WorkersUnavailable, match="not ready"):
        async with WorkerPool(1, jobs=ALL, start_timeout_s=0.001):
            pass
    assert children_of(os.getpid()) == before


@pytest.mark.parametrize("bad", [{"size": 0}, {"max_jobs": 0}, {"spares": -1}, {"queue_limit": -1}])
def test_numbers_that_make_no_pool_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least"):
        WorkerPool(**{"jobs": ALL, **bad})  # type: ignore[arg-type]


def test_the_pool_works_on_uvloop() -> None:
    async def story() -> None:
        async with WorkerPool(1, jobs=ALL, grace_s=0, spares=0) as pool:
            assert await pool.run(JOBS + "echo", {"text": "x" * 300_000}) == {"text": "x" * 300_000}
            with pytest.raises(Exception, match="ran past"):
                await pool.run(JOBS + "loop", {}, timeout_s=0.05)
            assert await pool.run(JOBS + "echo", {}) == {}

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story())
