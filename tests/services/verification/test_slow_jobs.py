import asyncio
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import timedelta

from structlog.testing import capture_logs

from aex_models.contract import AttemptStatus, Candidate, ContractStatus
from aex_models.governance import Party
from aex_outcomes.confinement.pool import WorkerPool
from aex_outcomes.lifecycle.ruling import Ruling
from aex_verification.fair_slots import FairSlots
from aex_verification.handlers.admit import load_or_open_contract
from aex_verification.handlers.read import load_attempt, make_attempt_view
from aex_verification.handlers.submit_output import submit_output
from aex_verification.ports import VerifierRequest
from aex_verification.slow_jobs import MAX_WAITING, SLOTS, SlowJob, SlowJobs
from aex_verification.verifiers import JOB, ConfinedVerifiers
from tests.libs.runtime.http.sample import until
from tests.parts.verification import NO_KEY, VerificationBench
from tests.parts.verifiers import InProcessVerifiers
from tests.services.verification.flow import GOOD
from tests.services.verification.test_verifiers import CONFIG, REGISTERED, TIMEOUTS
from tests.services.verification.virtual_time import in_virtual_time

JOB_S = 10.0
"""Deadline of a job, which each takes in full."""


class SlowVerifiers:
    """Verifiers that take `JOB_S`, and record whose candidate began when."""

    def __init__(self, verifiers: InProcessVerifiers) -> None:
        self._verifiers = verifiers
        self.began: list[tuple[str, float]] = []

    async def rule(self, request: VerifierRequest) -> Ruling:
        self.began.append((request.contract_id, asyncio.get_running_loop().time()))
        await asyncio.sleep(JOB_S)
        return await self._verifiers.rule(request)

    def began_at(self, contract_id: str) -> float:
        return next(at for contract, at in self.began if contract == contract_id)


def slow_bench(slow_jobs: SlowJobs) -> tuple[VerificationBench, SlowVerifiers]:
    bench = VerificationBench()
    verifiers = SlowVerifiers(bench.verifiers)
    bench.rewire(replace(bench.deps, slow_jobs=slow_jobs, verifiers=verifiers))
    return bench, verifiers


async def post(bench: VerificationBench, contract_id: str, consumer: str, verifier: str | None = "summary") -> str:
    await bench.award(contract_id, consumer=Party(id=consumer), verification={"verifier": verifier})
    output = {"text": GOOD} if verifier != "obey" else {"do": "take_time", "text": GOOD}
    effect, _ = await submit_output(bench.deps, Party(id="bot"), contract_id, Candidate(output=output), NO_KEY)
    return effect.resource_id


async def deliver(bench: VerificationBench, start: int = 0) -> None:
    """Deliver the posted candidates from the one with this number on, as many at once as a service does."""
    limit = asyncio.Semaphore(16)

    async def handle(number: int) -> None:
        async with limit:
            await bench.handlers["output.submitted"](bench.emitted("output.submitted")[number])

    await asyncio.gather(*(handle(number) for number in range(start, len(bench.emitted("output.submitted")))))


async def status_of(bench: VerificationBench, contract_id: str) -> ContractStatus:
    return (await load_or_open_contract(bench.deps, contract_id)).state.status


@in_virtual_time
async def test_consumer_beside_500_slow_works_of_another_starts_within_two_job_deadlines() -> None:
    bench, verifiers = slow_bench(SlowJobs())
    for number in range(500):
        await post(bench, f"ctr_{number}", "acme")
    flood = asyncio.create_task(deliver(bench))
    await asyncio.sleep(0.1)
    assert len(verifiers.began) == SLOTS - 1
    await post(bench, "ctr_first", "globex")
    await post(bench, "ctr_kept", "initech")
    await post(bench, "ctr_fast", "acme", verifier=None)
    posted_at = asyncio.get_running_loop().time()
    await deliver(bench, 500)
    assert await status_of(bench, "ctr_fast") is ContractStatus.PASSED
    await asyncio.sleep(2 * JOB_S)
    assert verifiers.began_at("ctr_first") == posted_at
    assert verifiers.began_at("ctr_kept") <= posted_at + JOB_S
    await flood


@in_virtual_time
async def test_attempts_beyond_those_in_memory_come_back_by_their_timers() -> None:
    bench, verifiers = slow_bench(SlowJobs(FairSlots(2, 3)))
    for number in range(8):
        await post(bench, f"ctr_{number}", "acme")
    running = asyncio.create_task(deliver(bench))
    for _ in range(60):
        await asyncio.sleep(JOB_S)
        await bench.pass_time(timedelta(seconds=JOB_S))
    await running
    assert [await status_of(bench, f"ctr_{number}") for number in range(8)] == [ContractStatus.PASSED] * 8
    assert len(verifiers.began) == 8
    assert await bench.timers() == []


@in_virtual_time
async def test_displaced_attempt_comes_back_by_its_timer_soon() -> None:
    bench, verifiers = slow_bench(SlowJobs(FairSlots(1, 2)))
    with ExitStack() as slot:
        assert bench.deps.slow_jobs.try_acquire("globex", slot)
        for number, consumer in enumerate(("acme", "acme", "initech")):
            await post(bench, f"ctr_{number}", consumer)
        await deliver(bench)
        await asyncio.sleep(0.1)
        due = [timer for timer in await bench.timers() if timer.kind == "verify" and timer.due_at <= bench.clock.now()]
        assert [timer.payload["contract_id"] for timer in due] == ["ctr_1"]
    await asyncio.sleep(3 * JOB_S)
    assert [contract for contract, _ in verifiers.began] == ["ctr_0", "ctr_2"]
    await bench.pass_time(timedelta(seconds=1))
    assert await status_of(bench, "ctr_1") is ContractStatus.PASSED


@in_virtual_time
async def test_job_that_finds_the_last_wait_taken_is_resumed_at_once() -> None:
    jobs, resumed = SlowJobs(FairSlots(1, 1)), Counter[str]()

    def job(key: str) -> SlowJob:
        async def resume() -> None:
            resumed[key] += 1

        return SlowJob(key, "acme", "job", nothing, resume)

    with ExitStack() as slot:
        assert jobs.try_acquire("globex", slot)
        for key in ("att_1", "att_2"):  # both had room a moment ago
            jobs.start(job(key))
        await asyncio.sleep(1)
        assert (resumed, "att_1" in jobs, "att_2" in jobs) == ({"att_2": 1}, True, False)


@in_virtual_time
async def test_waiting_attempt_is_queued_and_verified_once() -> None:
    bench, verifiers = slow_bench(SlowJobs(FairSlots(1, 64)))
    with ExitStack() as slot:
        assert bench.deps.slow_jobs.try_acquire("globex", slot)
        attempt_id = await post(bench, "ctr_1", "acme")
        await deliver(bench)
        await deliver(bench)  # again, as after a lost acknowledgement
        view = await make_attempt_view(bench.deps, await load_attempt(bench.deps, "ctr_1", attempt_id))
        assert view.status is AttemptStatus.QUEUED
        await bench.pass_time(timedelta(minutes=10))  # its timer finds it waiting
    await asyncio.sleep(2 * JOB_S)
    assert (len(verifiers.began), await status_of(bench, "ctr_1")) == (1, ContractStatus.PASSED)
    assert [timer.kind for timer in await bench.timers()] == []


@in_virtual_time
async def test_attempt_that_another_process_verified_while_it_waited_is_left_alone() -> None:
    bench, verifiers = slow_bench(SlowJobs(FairSlots(1, 64)))
    with ExitStack() as slot:
        assert bench.deps.slow_jobs.try_acquire("globex", slot)
        await post(bench, "ctr_1", "acme")
        await deliver(bench)
        waiting = bench.deps
        bench.rewire(replace(bench.deps, slow_jobs=SlowJobs()))  # another process
        await deliver(bench)
    await asyncio.sleep(2 * JOB_S)
    assert (len(verifiers.began), len(bench.emitted("outcome.verified"))) == (1, 1)
    assert "att" not in str(waiting.in_flight)


@in_virtual_time
async def test_stopping_process_leaves_every_job_to_a_timer_due_now() -> None:
    bench, verifiers = slow_bench(SlowJobs(FairSlots(2, 64)))
    background = asyncio.create_task(bench.deps.slow_jobs.run())
    with ExitStack() as slot:
        assert bench.deps.slow_jobs.try_acquire("globex", slot)
        for number in range(3):
            await post(bench, f"ctr_{number}", ("acme", "initech", "initech")[number])
        inline = asyncio.ensure_future(bench.handlers["output.submitted"](bench.emitted("output.submitted")[0]))
        await asyncio.sleep(JOB_S / 2)
        await deliver(bench, 1)
    await asyncio.sleep(1)
    assert [contract for contract, _ in verifiers.began] == ["ctr_0", "ctr_1"]
    background.cancel()
    with suppress(asyncio.CancelledError):
        await background
    due = [timer for timer in await bench.timers() if timer.kind == "verify" and timer.due_at <= bench.clock.now()]
    assert {str(timer.payload["contract_id"]) for timer in due} == {"ctr_1", "ctr_2"}
    assert not bench.deps.slow_jobs.may_wait("acme")
    bench.rewire(replace(bench.deps, slow_jobs=SlowJobs()))  # the next process
    await inline
    await bench.pass_time(timedelta(seconds=1))
    assert [await status_of(bench, f"ctr_{number}") for number in range(3)] == [ContractStatus.PASSED] * 3


async def nothing(*_: object) -> None:
    """Do nothing."""


async def fail(*_: object) -> None:
    raise ZeroDivisionError("canary")


async def test_failed_job_is_logged_without_its_message() -> None:
    jobs = SlowJobs()
    with capture_logs() as logs:
        jobs.start(SlowJob("att_1", "acme", "job", fail, nothing))
        await until(lambda: "att_1" not in jobs)
    assert (logs[-1]["event"], logs[-1]["job"]) == ("slow_job_failed", "att_1")
    assert "canary" not in str(logs)


async def test_job_that_cannot_be_resumed_is_logged_at_the_stop() -> None:
    async def wait(_: ExitStack) -> None:
        await asyncio.Event().wait()

    jobs = SlowJobs(FairSlots(1, 64))
    with ExitStack() as slot, capture_logs() as logs:
        assert jobs.try_acquire("globex", slot)
        background = asyncio.create_task(jobs.run())
        await asyncio.sleep(0)
        jobs.start(SlowJob("att_1", "acme", "job", wait, fail))
        background.cancel()
        await asyncio.gather(background, return_exceptions=True)
        jobs.start(SlowJob("att_2", "acme", "job", nothing, fail))
        await until(lambda: "att_2" not in jobs)
    assert [(each["event"], each["job"]) for each in logs] == [("slow_job_not_resumed", f"att_{at}") for at in (1, 2)]
    assert not any(key in jobs for key in ("att_1", "att_2"))


async def test_confined_worker_serves_a_second_consumer_soon() -> None:
    bench = VerificationBench()
    async with WorkerPool(1, 30.0, 512, jobs=[JOB], warm=REGISTERED.modules) as pool:
        verifiers = ConfinedVerifiers(pool, TIMEOUTS, CONFIG.as_json())
        bench.rewire(replace(bench.deps, verifiers=verifiers))
        for number in range(MAX_WAITING):
            await post(bench, f"ctr_{number}", "acme", "obey")
        flood = asyncio.create_task(deliver(bench))
        await until(lambda: len(bench.emitted("outcome.verified")) > 0)
        await post(bench, "ctr_other", "globex", "obey")
        before = len(bench.emitted("outcome.verified"))
        await deliver(bench, MAX_WAITING)
        await until(lambda: "ctr_other" in ended(bench))
        assert ended(bench).index("ctr_other") - before <= SLOTS
        await flood
        await until(lambda: len(ended(bench)) == MAX_WAITING + 1)
    assert await bench.timers() == []


def ended(bench: VerificationBench) -> list[str]:
    return [event.subject for event in bench.emitted("outcome.verified")]
