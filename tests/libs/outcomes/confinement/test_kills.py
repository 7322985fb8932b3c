import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.confinement.settings import JobCrashed, JobOutOfMemory, JobTimeout
from tests.libs.outcomes.confinement.service import JOBS, children_of, confined_children

_NAMES = ("echo", "who", "loop", "hold", "eat_memory", "take_all_memory", "exit_hard", "segfault", "abort", "garbage")
ALL = [JOBS + name for name in (*_NAMES, "speak_later", "close_pipe_and_stay")]
MEGABYTE = 1 << 20


async def until(reached: Callable[[], bool]) -> None:
    """Wait for what happens in the background; fail after 90 s."""
    async with asyncio.timeout(90):
        while not reached():  # noqa: ASYNC110 what is waited for has no event
            await asyncio.sleep(0.01)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool(2, jobs=ALL, memory_mb=128, grace_s=0.05) as opened:
        yield opened
        assert await opened.run(JOBS + "echo", {"after": "it all"}) == {"after": "it all"}


async def test_an_endless_loop_is_killed_at_its_deadline_while_others_are_served(pool: WorkerPool) -> None:
    stuck = asyncio.create_task(pool.run(JOBS + "loop", {}, timeout_s=0.4))
    started = time.monotonic()
    while not stuck.done():
        assert await pool.run(JOBS + "echo", {"a": 1}) == {"a": 1}
    with pytest.raises(JobTimeout):
        await stuck
    assert time.monotonic() - started >= 0.4


async def test_the_killed_process_is_gone_and_replaced(pool: WorkerPool) -> None:
    before = children_of(os.getpid())
    with pytest.raises(JobTimeout):
        await pool.run(JOBS + "loop", {}, timeout_s=0.05)
    await until(lambda: pool.alive_workers == 3)
    after = children_of(os.getpid())
    assert len(after) == len(before)
    assert len(before - after) == 1


async def test_all_workers_stuck_at_once_are_all_replaced(pool: WorkerPool) -> None:
    ends = await asyncio.gather(*(pool.run(JOBS + "loop", {}, timeout_s=0.1) for _ in range(6)), return_exceptions=True)
    assert all(isinstance(end, JobTimeout) for end in ends)


class HastenedLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be set forward."""

    ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s


def test_the_deadline_counts_from_the_start_of_a_job_and_not_from_its_waiting() -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, HastenedLoop)
        async with WorkerPool(1, jobs=ALL, spares=0) as pool:
            with tempfile.NamedTemporaryFile() as file:
                first = asyncio.create_task(pool.run(JOBS + "hold", {"file": file.name, "tag": 1}, timeout_s=600))
                second = asyncio.create_task(pool.run(JOBS + "echo", {}, timeout_s=60))
                await asyncio.sleep(0)
                loop.ahead_s = 300.0
                await asyncio.sleep(0.01)
            assert (await first, await second) == ({"tag": 1}, {})

    with asyncio.Runner(loop_factory=HastenedLoop) as runner:
        runner.run(story())


async def test_a_memory_bomb_is_refused_its_memory(pool: WorkerPool) -> None:
    for bomb in ({"chunks": 1, "bytes": 1 << 40}, {"chunks": 10**9, "bytes": MEGABYTE, "keep": True}):
        with pytest.raises(JobOutOfMemory):
            await pool.run(JOBS + "eat_memory", bomb)


async def test_a_worker_never_holds_twice_its_memory_limit(pool: WorkerPool) -> None:
    most = (await pool.run(JOBS + "take_all_memory", {}))["most"]
    assert 100 * MEGABYTE < most < 256 * MEGABYTE


async def test_a_worker_that_exits_is_a_crash_with_its_status(pool: WorkerPool) -> None:
    for status in (0, 7):
        with pytest.raises(JobCrashed, match="exit status 7" if status else "ended"):
            await pool.run(JOBS + "exit_hard", {"status": status})


async def test_a_segmentation_fault_is_a_crash_with_its_signal(pool: WorkerPool) -> None:
    with pytest.raises(JobCrashed, match="SIGSEGV"):
        await pool.run(JOBS + "segfault", {})
    with pytest.raises(JobCrashed, match="SIGABRT"):
        await pool.run(JOBS + "abort", {})


async def test_a_killed_idle_worker_is_replaced_without_a_job_noticing(pool: WorkerPool) -> None:
    before = confined_children()
    assert len(before) == 3
    for worker in before:
        worker.kill()
    await until(lambda: pool.alive_workers == 3 and not {worker.pid for worker in before} & children_of(os.getpid()))
    assert await pool.run(JOBS + "echo", {}) == {}


@pytest.mark.parametrize(
    "written",
    [
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x03abc",
        b"\x00\x00\x00\x04null",
        b"\x00\x00\x00\x00",
        (33).to_bytes(4, "big") + b'{"result":{"a":NaN},"retire":false}'[:33],
        (31).to_bytes(4, "big") + b'{"result":[1,2],"retire":false}',
        (38).to_bytes(4, "big") + b'{"result":{"a":1e999},"retire":false}'.ljust(38),
        (60_000).to_bytes(4, "big") + b"[" * 60_000,
    ],
)
async def test_garbage_on_the_pipe_is_a_crash(pool: WorkerPool, written: bytes) -> None:
    with pytest.raises(JobCrashed):
        await pool.run(JOBS + "garbage", {"hex": written.hex()})


async def test_an_answer_sent_between_jobs_is_unrequested_and_its_worker_goes() -> None:
    async with WorkerPool(1, jobs=ALL, spares=0) as pool:
        speaker = (await pool.run(JOBS + "speak_later", {"after_s": 0.05}))["pid"]
        await until(lambda: speaker not in children_of(os.getpid()))
        answer = await pool.run(JOBS + "who", {"tag": "mine"})
    assert answer["tag"] == "mine"
    assert answer["pid"] != speaker


async def test_a_second_answer_behind_the_first_is_a_crash(pool: WorkerPool) -> None:
    body = b'{"result":{},"retire":false}'
    with pytest.raises(JobCrashed, match="unrequested bytes"):
        await pool.run(JOBS + "garbage", {"hex": ((len(body).to_bytes(4, "big") + body) * 2).hex()})


async def test_a_worker_that_closes_its_pipe_and_stays_is_killed(pool: WorkerPool) -> None:
    before = children_of(os.getpid())
    with pytest.raises(JobCrashed):
        await pool.run(JOBS + "close_pipe_and_stay", {})
    assert len(before - children_of(os.getpid())) == 1


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_kills_leak_neither_descriptors_nor_processes() -> None:
    others = children_of(os.getpid())
    async with WorkerPool(2, jobs=ALL, grace_s=0) as pool:
        before = _descriptors()
        for _ in range(15):
            with pytest.raises(JobTimeout):
                await pool.run(JOBS + "loop", {}, timeout_s=0.001)
        await until(lambda: pool.alive_workers == 3 and len(children_of(os.getpid()) - others) == 3)
        assert _descriptors() == before
    assert children_of(os.getpid()) == others
