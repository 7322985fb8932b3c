"""Outputs that are not of the verifier's output type: answered with what is wrong, and otherwise as if never posted."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aex_models.audiences import Audience, project
from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.contract_events import ContractEventType
from aex_models.governance import Decision, Party
from aex_runtime.errors import Conflict
from aex_runtime.unit_of_work import Unit
from aex_verification.handlers.close import cancel_contract, expire_contract, finalise_contract
from aex_verification.handlers.read import attempt_row, attempt_view
from aex_verification.handlers.timers import DEADLINE
from aex_verification.handlers.verify_attempt import verify_attempt
from aex_verification.ports import VerifierRequest
from aex_verification.rules.policy import Policy
from aex_verification.under_way import UnderWay
from aex_verification.waits import Waits
from tests.parts.verification import NO_KEY, VerificationBench
from tests.services.verification.flow import (
    DULL,
    GOOD,
    contract_events,
    judge,
    opened,
    outcome,
    post,
    review,
    state,
    status,
)

INVALID: dict[str, Any] = {"text": ["no", "text"]}
OTHER: dict[str, Any] = {"words": 3}
WEEK = timedelta(days=7)


@pytest.fixture
async def bench() -> VerificationBench:
    return await opened()


async def test_an_invalid_output_is_answered_with_its_errors_and_costs_nothing(bench: VerificationBench) -> None:
    row = await judge(bench, INVALID)
    assert (row.status, row.counted, row.verdict, row.result) == (AttemptStatus.INVALID, False, None, None)
    assert [(each.path, each.code) for each in row.errors] == [("/output/text", "string_type")]
    assert row.feedback is not None
    assert row.feedback.startswith('<output_invalid errors="1">\n- /output/text: ')
    told = project(await attempt_view(bench.deps, row), Audience.AGENT)
    assert (told["status"], [each["path"] for each in told["errors"]]) == ("invalid", ["/output/text"])
    assert (await state(bench)).verification.attempts_used == 0
    assert bench.judge.judged == 0, "there is nothing for the criteria to judge"
    assert bench.governance.asked == []
    assert bench.emitted("output.rejected") == []
    assert await contract_events(bench) == []


async def test_the_first_candidate_being_invalid_leaves_the_contract_awarded(bench: VerificationBench) -> None:
    row = await judge(bench, INVALID)
    found = await state(bench)
    assert (found.status, found.current_attempt, found.waiting_since) == (
        ContractStatus.AWARDED,
        None,
        bench.clock.now(),
    )
    assert found.last_feedback == row.feedback
    assert {timer.kind for timer in await bench.timers()} == {"deadline"}
    await judge(bench, GOOD)
    assert (await outcome(bench)).attempts_used == 1


async def test_an_invalid_candidate_after_a_rejection_leaves_the_contract_awaiting_its_revision(
    bench: VerificationBench,
) -> None:
    await judge(bench, DULL)
    await judge(bench, INVALID)
    found = await state(bench)
    assert (found.status, found.verification.attempts_used) == (ContractStatus.AWAITING_REVISION, 1)
    await judge(bench, GOOD)
    assert (await outcome(bench)).attempts_used == 2
    assert [request.agent.attempt for request in bench.verifiers.asked] == [1, 2, 2]
    assert [request.agent.turn for request in bench.verifiers.asked] == [1, 2, 3]
    assert "output_invalid" in bench.verifiers.asked[-1].agent.messages[0]["content"]


async def test_invalid_outputs_never_use_the_attempts_up(bench: VerificationBench) -> None:
    for number in range(10):
        await judge(bench, {"text": number})
    assert await status(bench) is ContractStatus.AWARDED


@pytest.mark.parametrize("rejected_before", [False, True])
async def test_a_deadline_that_passed_meanwhile_expires_the_contract(
    bench: VerificationBench, rejected_before: bool
) -> None:
    if rejected_before:
        await judge(bench, DULL)
    row = await post(bench, INVALID)
    bench.clock.advance(WEEK)
    await expire_contract(bench.deps, "ctr_1")
    assert await status(bench) is ContractStatus.VERIFYING, "the candidate came in time"
    await bench.deliver("output.submitted")
    record = await outcome(bench)
    assert record.final_status is ContractStatus.EXPIRED
    assert (record.verification_result is not None) is rejected_before
    assert str(record.billing_impact.total) == ("0.10" if rejected_before else "0")
    assert (await attempt_row(bench.deps, "ctr_1", row.attempt_id)).status is AttemptStatus.INVALID
    assert len(bench.emitted("outcome.verified")) == 1
    assert await bench.timers() == []
    [*_, last] = await contract_events(bench)
    assert (last.type, last.attempt_id is not None) == (ContractEventType.EXPIRED, rejected_before)


async def test_the_deadline_still_comes_where_it_fired_while_the_candidate_was_looked_at(
    bench: VerificationBench,
) -> None:
    await post(bench, INVALID)
    bench.clock.advance(WEEK)
    await expire_contract(bench.deps, "ctr_1")  # it can do nothing now, and is forgotten

    async def forget(unit: Unit) -> None:
        unit.cancel_timer(DEADLINE, "ctr_1")

    await bench.deps.unit_of_work.run(forget)
    bench.clock.advance(-timedelta(hours=1))
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.AWARDED
    await bench.pass_time(timedelta(hours=2))
    assert await status(bench) is ContractStatus.EXPIRED


async def test_a_repeated_invalid_output_is_a_replay_without_work(bench: VerificationBench) -> None:
    attempts = {(await judge(bench, INVALID)).attempt_id for _ in range(10)}
    assert len(attempts) == 1
    assert len(bench.verifiers.asked) == 1
    other = await judge(bench, OTHER)
    assert other.attempt_id not in attempts


async def test_a_job_that_comes_again_after_an_invalid_output_does_nothing(bench: VerificationBench) -> None:
    await judge(bench, INVALID)
    before = await state(bench)
    await bench.deliver("output.submitted")
    assert await state(bench) == before
    assert len(bench.verifiers.asked) == 1


async def test_cancelling_after_an_invalid_candidate_is_refused_for_it_was_received(bench: VerificationBench) -> None:
    await judge(bench, INVALID)
    with pytest.raises(Conflict) as refusal:
        await cancel_contract(bench.deps, "acme", "ctr_1", NO_KEY)
    assert refusal.value.code == "candidate_received"


async def test_finalising_with_nothing_but_an_invalid_candidate_is_refused(bench: VerificationBench) -> None:
    await judge(bench, INVALID)
    with pytest.raises(Conflict) as refusal:
        await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    assert refusal.value.code == "nothing_judged"


async def test_who_waits_for_a_verdict_is_told_at_once(bench: VerificationBench) -> None:
    bench.rewire(replace(bench.deps, waits=Waits(look_again_s=60.0)))
    row = await post(bench, INVALID)
    waiting = asyncio.create_task(
        bench.deps.waits.until(
            row.attempt_id,
            30.0,
            lambda: attempt_row(bench.deps, "ctr_1", row.attempt_id),
            lambda seen: seen.status is AttemptStatus.INVALID,
        )
    )
    await asyncio.sleep(0)
    await bench.deliver("output.submitted")
    async with asyncio.timeout(5):
        assert (await waiting).errors


async def test_what_an_earlier_failure_left_behind_is_gone(bench: VerificationBench) -> None:
    bench.verifiers.failures = 1
    row = await judge(bench, INVALID)
    assert row.status is AttemptStatus.WAITING
    await bench.pass_time(timedelta(minutes=1))
    row = await attempt_row(bench.deps, "ctr_1", row.attempt_id)
    assert (row.status, row.last_error, row.counted) == (AttemptStatus.INVALID, None, False)
    found = await state(bench)
    assert (found.status, found.system_retries) == (ContractStatus.AWARDED, 0)


async def test_an_operators_retry_that_finds_it_invalid_gives_the_contract_back_to_the_agent() -> None:
    bench = await opened(policy=Policy(max_system_retries=0))
    bench.verifiers.failures = 1
    await judge(bench, INVALID)
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.AWARDED
    await judge(bench, GOOD)
    assert (await outcome(bench)).attempts_used == 1


async def test_a_candidate_that_passed_and_is_invalid_when_verified_anew_is_put_before_the_operator_again() -> None:
    bench = await opened(consumer=Party(id="bot"))  # self-dealing: held
    await judge(bench, GOOD)
    bench.verifiers.by_name["summary"] = bench.verifiers.by_name["strict"]
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    found = await state(bench)
    assert (found.status, found.verification.attempts_used) == (ContractStatus.HELD, 1)
    with pytest.raises(Conflict, match="held for review"):
        await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    await review(bench, Decision.REJECT)
    assert await status(bench) is ContractStatus.FAILED


class VerifiersMeanwhile:
    """Verifiers that take so long that another replica, which took the attempt for lost, is quicker."""

    def __init__(self, bench: VerificationBench) -> None:
        self._bench = bench

    async def rule(self, request: VerifierRequest) -> Any:
        ruling = await self._bench.verifiers.rule(request)
        other = replace(self._bench.deps, under_way=UnderWay())
        await verify_attempt(other, request.contract_id, request.attempt_id)
        return ruling


async def test_two_replicas_that_find_a_candidate_invalid_say_so_once(bench: VerificationBench) -> None:
    row = await post(bench, INVALID)
    await verify_attempt(replace(bench.deps, verifiers=VerifiersMeanwhile(bench)), "ctr_1", row.attempt_id)
    assert len(bench.verifiers.asked) == 2
    alone = await opened()
    await judge(alone, INVALID)
    assert (await state(bench)).state_version == (await state(alone)).state_version
