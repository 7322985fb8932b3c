import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from aex_outcomes.confinement.settings import JobCrashed, JobFailed, JobTimeout, WorkersUnavailable
from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_runtime.ids import SeededIds
from aex_verification.sandbox_pool import SELF_TEST, SandboxPool
from tests.services.verification.virtual_time import in_virtual_time

PASSES, FAILS = {"ok": True, "failures": []}, {"ok": False, "failures": ["read a file: canary"]}
Answer = dict[str, Any] | Exception


class Pool:
    def __init__(self, answer: Answer, may_start: asyncio.Event) -> None:
        self.answer, self.may_start = answer, may_start
        self.started = self.closed = False
        self.jobs: list[str] = []
        self.fails: Exception | None = None

    async def start(self) -> None:
        await self.may_start.wait()
        if isinstance(self.answer, WorkersUnavailable):
            raise self.answer
        self.started = True

    async def close(self) -> None:
        self.closed = True

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        assert self.started
        assert not self.closed
        self.jobs.append(job)
        if job != SELF_TEST:
            if self.fails is not None:
                raise self.fails
            return {"payload": payload, "timeout_s": timeout_s, "queue": queue}
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Pools:
    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.made: list[Pool] = []
        self.may_start = asyncio.Event()
        self.may_start.set()

    def new(self) -> Pool:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self.made.append(Pool(answer, self.may_start))
        return self.made[-1]


@asynccontextmanager
async def opened(*answers: Answer) -> AsyncIterator[tuple[SandboxPool, Pools]]:
    pools = Pools(answers)
    async with SandboxPool(pools.new, SeededIds(1)) as sandbox:
        yield sandbox, pools


async def wait_until_up(sandbox: SandboxPool) -> None:
    """Let an hour pass, in which a failed pool is replaced several times."""
    await asyncio.sleep(3_600)
    assert sandbox.missing is None


@in_virtual_time
async def test_job_waits_for_the_first_self_test() -> None:
    async with opened(PASSES) as (sandbox, pools):
        before = sandbox.missing
        answer = await sandbox.run("job", {"a": 1}, 7, queue="acme")
        assert answer == {"payload": {"a": 1}, "timeout_s": 7, "queue": "acme"}
        assert (before, sandbox.missing) == ("starting", None)
        assert pools.made[0].jobs == [SELF_TEST, "job"]


@in_virtual_time
async def test_starting_does_not_wait_for_the_pool() -> None:
    async with opened(PASSES) as (sandbox, pools):
        assert (asyncio.get_running_loop().time(), pools.made) == (0, [])
        pools.may_start.clear()
        with pytest.raises(SandboxUnavailable, match="starting"):
            await sandbox.run("job", {})
        assert asyncio.get_running_loop().time() == 10


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
@in_virtual_time
async def test_no_job_runs_without_a_passed_self_test(answer: Answer, reason: str) -> None:
    async with opened(answer) as (sandbox, pools):
        with pytest.raises(SandboxUnavailable, match=reason):
            await sandbox.run("job", {})
        assert sandbox.missing == reason
        assert "job" not in [job for pool in pools.made for job in pool.jobs]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (JobFailed("SandboxUnavailable", "/secret does not start"), "a worker could not run any code"),
        (WorkersUnavailable("cannot fork /secret"), "no worker can be started"),
    ],
)
@in_virtual_time
async def test_unusable_pool_is_replaced_and_tested(error: Exception, reason: str) -> None:
    async with opened(WorkersUnavailable("none"), PASSES, FAILS, PASSES) as (sandbox, pools):
        await wait_until_up(sandbox)
        pools.made[1].fails = error
        with pytest.raises(SandboxUnavailable, match=reason) as raised:
            await sandbox.run("job", {})
        assert "secret" not in str(raised.value)
        assert sandbox.missing == reason
        with pytest.raises(SandboxUnavailable):
            await sandbox.run("job", {})
        await wait_until_up(sandbox)
        await sandbox.run("job", {})
        assert [pool.closed for pool in pools.made] == [True, True, True, False]


@in_virtual_time
async def test_caller_may_mark_the_pool_unhealthy() -> None:
    async with opened(PASSES) as (sandbox, pools):
        sandbox.mark_unhealthy()
        assert sandbox.missing == "starting", "not tested yet anyway"
        await wait_until_up(sandbox)
        sandbox.mark_unhealthy()
        sandbox.mark_unhealthy()
        assert sandbox.missing == "a worker could not run any code"
        await wait_until_up(sandbox)
        await sandbox.run("job", {})
        assert [pool.closed for pool in pools.made] == [True, False]


@pytest.mark.parametrize("error", [JobFailed("KeyError", "x"), JobCrashed("killed")])
@in_virtual_time
async def test_failed_job_keeps_the_pool(error: Exception) -> None:
    async with opened(PASSES) as (sandbox, pools):
        await wait_until_up(sandbox)
        pools.made[0].fails = error
        with pytest.raises(type(error)):
            await sandbox.run("job", {})
        pools.made[0].fails = None
        assert sandbox.missing is None
        await sandbox.run("job", {})
    assert [pool.closed for pool in pools.made] == [True]
    with pytest.raises(SandboxUnavailable):
        await sandbox.run("job", {})


@in_virtual_time
async def test_without_workers_custom_code_is_off() -> None:
    async with SandboxPool(None, SeededIds(1)) as sandbox:
        assert sandbox.missing == "off"
        with pytest.raises(SandboxUnavailable, match="off"):
            await sandbox.run("job", {})
