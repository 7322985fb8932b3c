"""Custom code is run once the self-test has passed, and not before."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from aex_models.backoff import Backoff
from aex_outcomes.confinement.errors import JobCrashed, JobFailed, JobTimeout, WorkersUnavailable
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_runtime.ids import SeededIds
from aex_verification.sandbox_desk import SELF_TEST, SandboxDesk, SandboxPolicy

PROMPT = SandboxPolicy(
    start_after=timedelta(),
    again=Backoff(timedelta(milliseconds=5), timedelta(milliseconds=20)),
    patience=timedelta(milliseconds=500),
    self_test_timeout=timedelta(seconds=1),
)
PASSES, FAILS = {"ok": True, "failures": []}, {"ok": False, "failures": ["read a file: canary"]}
Answer = dict[str, Any] | Exception


class Pool:
    """A pool that does as it is told: `unstartable`, or with this answer to a self-test."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.started = self.closed = False
        self.jobs: list[str] = []
        self.fails: Exception | None = None

    async def start(self) -> None:
        if isinstance(self.answer, WorkersUnavailable):
            raise self.answer
        self.started = True

    async def close(self) -> None:
        self.closed = True

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        assert self.started
        assert not self.closed
        self.jobs.append(job)
        if job != SELF_TEST:
            if self.fails is not None:
                raise self.fails
            return {"payload": payload, "timeout_s": timeout_s, "lane": lane}
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Pools:
    """Makes one pool after the other."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.made: list[Pool] = []

    def new(self) -> Pool:
        self.made.append(Pool(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]))
        return self.made[-1]


@asynccontextmanager
async def opened(*answers: Answer, policy: SandboxPolicy = PROMPT) -> AsyncIterator[tuple[SandboxDesk, Pools]]:
    pools = Pools(answers)
    async with SandboxDesk(pools.new, SeededIds(1), policy) as desk:
        yield desk, pools


async def until_up(desk: SandboxDesk) -> None:
    for _ in range(1_000):
        if desk.missing is None:
            return
        await asyncio.sleep(0.005)
    raise AssertionError(desk.missing)


async def test_a_job_waits_for_the_first_self_test_and_is_then_run() -> None:
    async with opened(PASSES) as (desk, pools):
        before = desk.missing
        answer = await desk.run("job", {"a": 1}, 7, lane="acme")
        assert answer == {"payload": {"a": 1}, "timeout_s": 7, "lane": "acme"}
        assert (before, desk.missing) == ("starting", None)
        assert pools.made[0].jobs == [SELF_TEST, "job"]


async def test_starting_does_not_wait_for_the_pool() -> None:
    late = SandboxPolicy(start_after=timedelta(hours=1), patience=timedelta(milliseconds=10))
    async with asyncio.timeout(5):
        async with opened(PASSES, policy=late) as (desk, pools):
            with pytest.raises(SandboxUnavailable, match="starting"):
                await desk.run("job", {})
            assert pools.made == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (FAILS, "the self-test failed"),
        ({}, "the self-test failed"),
        ({"ok": "true"}, "the self-test failed"),
        (JobTimeout("it hangs"), "the self-test did not end"),
        (JobCrashed("it died"), "the self-test did not end"),
        (WorkersUnavailable("no such file: /secret"), "no worker can be started"),
    ],
)
async def test_without_a_self_test_nothing_is_run_and_the_reason_tells_no_more(answer: Answer, reason: str) -> None:
    async with opened(answer) as (desk, pools):
        with pytest.raises(SandboxUnavailable, match=reason):
            await desk.run("job", {})
        assert desk.missing == reason
        assert "job" not in [job for pool in pools.made for job in pool.jobs]


async def test_after_a_failure_a_new_pool_is_tested_again() -> None:
    async with opened(WorkersUnavailable("none"), FAILS, PASSES) as (desk, pools):
        await until_up(desk)
        await desk.run("job", {})
        assert [pool.closed for pool in pools.made] == [True, True, False]


async def test_a_pool_that_loses_its_workers_for_good_is_replaced_and_tested() -> None:
    async with opened(PASSES) as (desk, pools):
        await until_up(desk)
        pools.made[0].fails = WorkersUnavailable("cannot fork")
        with pytest.raises(SandboxUnavailable):
            await desk.run("job", {})
        assert desk.missing is not None
        await until_up(desk)
        await desk.run("job", {})
        assert [pool.closed for pool in pools.made] == [True, False]


async def test_a_worker_without_an_interpreter_makes_the_pool_be_replaced_and_tested() -> None:
    async with opened(PASSES, FAILS, PASSES) as (desk, pools):
        await until_up(desk)
        pools.made[0].fails = JobFailed("SandboxUnavailable", "/secret does not start")
        with pytest.raises(SandboxUnavailable, match="could not run any code") as raised:
            await desk.run("job", {})
        assert "secret" not in str(raised.value)
        assert desk.missing == "a worker could not run any code"
        with pytest.raises(SandboxUnavailable):
            await desk.run("job", {})
        await until_up(desk)
        await desk.run("job", {})
        assert [pool.closed for pool in pools.made] == [True, True, False]


async def test_who_reads_of_it_in_an_answer_can_doubt_as_well() -> None:
    async with opened(PASSES) as (desk, pools):
        desk.doubt()
        assert desk.missing == "starting", "not tested yet anyway"
        await until_up(desk)
        desk.doubt()
        desk.doubt()
        assert desk.missing == "a worker could not run any code"
        await until_up(desk)
        await desk.run("job", {})
        assert [pool.closed for pool in pools.made] == [True, False]


async def test_a_job_that_fails_by_itself_casts_no_doubt() -> None:
    async with opened(PASSES) as (desk, pools):
        await until_up(desk)
        pools.made[0].fails = JobFailed("KeyError", "x")
        with pytest.raises(JobFailed):
            await desk.run("job", {})
        assert desk.missing is None


async def test_a_job_that_kills_its_worker_takes_nothing_from_others() -> None:
    async with opened(PASSES) as (desk, pools):
        await until_up(desk)
        pools.made[0].fails = JobCrashed("killed")
        with pytest.raises(JobCrashed):
            await desk.run("job", {})
        pools.made[0].fails = None
        assert desk.missing is None
        await desk.run("job", {})
        assert len(pools.made) == 1


async def test_leaving_closes_the_pool() -> None:
    async with opened(PASSES) as (desk, pools):
        await until_up(desk)
    assert pools.made[0].closed
    with pytest.raises(SandboxUnavailable):
        await desk.run("job", {})


async def test_without_workers_custom_code_is_off() -> None:
    async with SandboxDesk(None, SeededIds(1)) as desk:
        assert desk.missing == "off"
        with pytest.raises(SandboxUnavailable, match="off"):
            await desk.run("job", {})
