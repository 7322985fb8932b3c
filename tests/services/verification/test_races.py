"""What happens in the wrong order, at the wrong moment or on a wrong clock: no contract is stuck, none has two ends."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aex_models.contract import AttemptStatus, Candidate, ContractStatus
from aex_models.events import OutcomeReviewed
from aex_models.governance import Decision, Party, ValidationDecision, ValidationRequest
from aex_runtime.errors import Conflict, InvalidRequest, NotFound
from aex_runtime.timer_entry import Timer
from aex_runtime.unit_of_work import Unit
from aex_verification.handlers.admit import contract_row
from aex_verification.handlers.close import cancel_contract, expire_contract, finalise_contract
from aex_verification.handlers.conclude import conclude_contract
from aex_verification.handlers.read import attempt_row, outcome_of
from aex_verification.handlers.submit_output import MAX_SIDE_BYTES, submit_output
from aex_verification.handlers.timers import DEADLINE
from aex_verification.handlers.verify_attempt import verify_attempt
from aex_verification.ports import FoundAward, Judgement, JudgeRequest
from aex_verification.rules.policy import Policy
from aex_verification.subscriptions import timers
from aex_verification.under_way import UnderWay
from tests.parts.verification import NO_KEY, VerificationBench, event_of

BOT = Party(id="bot")
GOOD, BAD = "one two three four", "one"
WEEK = timedelta(days=7)


async def post(bench: VerificationBench, text: str, **more: Any) -> str:
    candidate = Candidate.model_validate({"output": {"text": text}, **more})
    effect, _ = await submit_output(bench.deps, BOT, "ctr_1", candidate, NO_KEY)
    return effect.resource_id


async def judge(bench: VerificationBench, text: str, **more: Any) -> str:
    attempt_id = await post(bench, text, **more)
    await bench.deliver("output.submitted")
    return attempt_id


async def status(bench: VerificationBench) -> ContractStatus:
    return (await contract_row(bench.deps, "ctr_1")).state.status


async def review(bench: VerificationBench, attempt_id: str, decision: Decision) -> None:
    data = OutcomeReviewed(
        hold_id=f"hold_{attempt_id}",
        contract_id="ctr_1",
        attempt_id=attempt_id,
        decision=decision,
        reason="looked at it",
        by="olga",
    )
    await bench.handlers["outcome.reviewed"](event_of("outcome.reviewed", "ctr_1", data))


async def forget_timer(bench: VerificationBench, timer: Timer) -> None:
    """What the sweeper does once a timer has fired."""

    async def forget(unit: Unit) -> None:
        unit.cancel_timer(timer.kind, timer.subject)

    await bench.deps.unit_of_work.run(forget)


async def current(bench: VerificationBench) -> str:
    attempt_id = (await contract_row(bench.deps, "ctr_1")).state.current_attempt
    assert attempt_id is not None
    return attempt_id


async def test_a_deadline_that_fired_during_a_verification_is_not_lost_where_the_clock_is_set_back() -> None:
    bench = VerificationBench()
    await bench.award()
    await post(bench, BAD)
    bench.clock.advance(WEEK)
    deadline = Timer(kind=DEADLINE, subject="ctr_1", due_at=bench.clock.now())
    await timers(bench.deps)[DEADLINE](deadline)  # the candidate is under way: the deadline can do nothing
    await forget_timer(bench, deadline)
    bench.clock.advance(-timedelta(hours=1))
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.AWAITING_REVISION
    await bench.pass_time(timedelta(hours=2))
    assert await status(bench) is ContractStatus.EXPIRED


async def test_a_deadline_that_comes_due_on_a_clock_that_is_then_set_back_comes_again() -> None:
    bench = VerificationBench()
    await bench.award()
    due = bench.clock.now() + WEEK
    bench.clock.advance(WEEK - timedelta(seconds=1))
    await bench.sweeper.fire_due(due)  # the sweeper looked at a clock that was ahead
    assert await status(bench) is ContractStatus.AWARDED
    await bench.pass_time(timedelta(minutes=1))
    assert await status(bench) is ContractStatus.EXPIRED


async def test_a_rejection_at_the_very_deadline_expires_the_contract() -> None:
    bench = VerificationBench()
    await bench.award()
    await post(bench, BAD)
    bench.clock.advance(WEEK)
    await expire_contract(bench.deps, "ctr_1")
    await bench.deliver("output.submitted")
    await bench.pass_time(timedelta(minutes=1))
    record = await outcome_of(bench.deps, "ctr_1")
    assert record is not None
    assert record.final_status is ContractStatus.EXPIRED


async def test_finalising_after_the_deadline_expires_the_contract_however_late_its_timer() -> None:
    bench = VerificationBench()
    await bench.award()
    await judge(bench, BAD)
    bench.clock.advance(WEEK + timedelta(minutes=1))
    with pytest.raises(Conflict) as refusal:
        await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    assert refusal.value.code == "deadline_passed"
    await bench.pass_time(timedelta(minutes=1))
    assert await status(bench) is ContractStatus.EXPIRED


async def test_cancelling_after_the_deadline_expires_the_contract_however_late_its_timer() -> None:
    bench = VerificationBench()
    await bench.award()
    bench.clock.advance(WEEK + timedelta(minutes=1))
    with pytest.raises(Conflict) as refusal:
        await cancel_contract(bench.deps, "acme", "ctr_1", NO_KEY)
    assert refusal.value.code == "deadline_passed"
    assert await status(bench) is ContractStatus.EXPIRED


async def test_a_retry_delays_but_does_not_undo_that_the_agent_finalised() -> None:
    bench = VerificationBench()
    await bench.award(consumer=Party(id="bot"))  # self-dealing: whatever closes is held
    await judge(bench, BAD)
    await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    await bench.pass_time(timedelta(seconds=1))
    assert await status(bench) is ContractStatus.HELD
    await review(bench, await current(bench), Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.HELD
    await review(bench, await current(bench), Decision.RELEASE)
    record = await outcome_of(bench.deps, "ctr_1")
    assert record is not None
    assert (record.final_status, record.attempts_used) == (ContractStatus.FINALISED, 1)


async def test_a_replay_of_a_candidate_that_is_verified_anew_does_not_answer_its_old_verdict() -> None:
    bench = VerificationBench()
    await bench.award(consumer=Party(id="bot"))
    first = await judge(bench, GOOD)
    await review(bench, first, Decision.RETRY)
    again = await post(bench, GOOD)
    assert again == await current(bench) != first
    assert (await attempt_row(bench.deps, "ctr_1", again)).status is AttemptStatus.QUEUED


class NobodyAsks:
    """A work-publisher that must not be asked."""

    async def get(self, contract_id: str) -> FoundAward | None:
        raise AssertionError(f"asked for {contract_id[:20]}")


@pytest.mark.parametrize("contract_id", ["ctr_" + '"' * 25_000, "ctr_" + "x" * 125, "work_1"])
async def test_what_can_be_no_contracts_id_is_not_found_without_asking_anybody(contract_id: str) -> None:
    deps = replace(VerificationBench().deps, awards=NobodyAsks())
    with pytest.raises(NotFound):
        await contract_row(deps, contract_id)


class GovernanceMeanwhile:
    """Governance whose first answer takes so long that something happens meanwhile."""

    def __init__(self, bench: VerificationBench) -> None:
        self._bench, self._waits = bench, True

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        decision = await self._bench.governance.validate(request)
        if self._waits:
            self._waits = False
            await conclude_contract(self._bench.deps, "ctr_1")  # another replica is quicker: held
            await review(self._bench, request.attempt_id, Decision.RETRY)
            self._bench.governance.down = lambda: True
            await self._bench.deliver("output.submitted")  # judged again, and waiting for governance
        return decision


async def test_governances_word_on_an_attempt_is_not_applied_to_the_one_that_took_its_place() -> None:
    bench = VerificationBench()
    await bench.award(consumer=Party(id="bot"))
    first = await post(bench, GOOD)
    meanwhile = replace(bench.deps, governance=GovernanceMeanwhile(bench))
    bench.governance.down = lambda: True
    await bench.deliver("output.submitted")  # judged, and waiting for governance
    bench.governance.down = lambda: False
    await conclude_contract(meanwhile, "ctr_1")
    assert await current(bench) != first
    assert await status(bench) is ContractStatus.VERIFYING  # not held by what was said of the other
    bench.governance.down = lambda: False
    await bench.pass_time(timedelta(minutes=5))
    assert await status(bench) is ContractStatus.HELD
    assert {request.attempt_id for request in bench.governance.asked} == {first, await current(bench)}


async def test_lost_evaluation_data_are_put_before_an_operator() -> None:
    bench = VerificationBench(policy=Policy(max_system_retries=2))
    awarded = await bench.award(evaluation={"reference": "one two three"})
    assert awarded.evaluation is not None
    lost = awarded.evaluation.model_copy(update={"digest": "0" * 64})
    bench = VerificationBench(policy=Policy(max_system_retries=2))
    data = awarded.model_copy(update={"evaluation": lost})
    await bench.handlers["contract.awarded"](event_of("contract.awarded", "ctr_1", data))
    await judge(bench, GOOD)
    await bench.pass_time(timedelta(minutes=5))
    assert await status(bench) is ContractStatus.HELD
    assert bench.emitted("outcome.held")[0].data["cause"] == "system_retries_exhausted"


@pytest.mark.parametrize(
    "said",
    [
        {"execution_metadata": {"log": "x" * MAX_SIDE_BYTES}},
        {"claimed_metrics": {f"metric_{n}": 0.5 for n in range(4_000)}},
        {"claimed_values": {f"value_{n}": 0.5 for n in range(4_000)}},
    ],
)
async def test_more_metadata_or_claims_than_governance_is_told_are_refused(said: dict[str, Any]) -> None:
    bench = VerificationBench()
    await bench.award()
    with pytest.raises(InvalidRequest) as refusal:
        await post(bench, GOOD, **said)
    assert [(each.path, each.code) for each in refusal.value.errors] == [(f"/{next(iter(said))}", "too_large")]
    assert await status(bench) is ContractStatus.AWARDED


class JudgeMeanwhile:
    """A verifier that takes so long that another replica, which took the attempt for lost, is quicker."""

    def __init__(self, bench: VerificationBench) -> None:
        self._bench = bench

    async def judge(self, request: JudgeRequest) -> Judgement:
        judgement = await self._bench.judge.judge(request)
        other = replace(self._bench.deps, under_way=UnderWay())
        await verify_attempt(other, request.contract_id, request.attempt_id)
        return judgement


@pytest.mark.parametrize("text", [GOOD, BAD])
async def test_two_replicas_that_verify_one_attempt_count_it_once(text: str) -> None:
    bench = VerificationBench()
    await bench.award()
    attempt_id = await post(bench, text)
    slow = replace(bench.deps, judge=JudgeMeanwhile(bench))
    await verify_attempt(slow, "ctr_1", attempt_id)
    assert bench.judge.judged == 2
    assert (await contract_row(bench.deps, "ctr_1")).state.verification.attempts_used == 1
    assert len(bench.emitted("outcome.verified")) == (text == GOOD)
    assert len(bench.emitted("output.rejected")) == (text == BAD)


async def test_two_replicas_that_fail_at_one_try_use_up_one_system_retry() -> None:
    bench = VerificationBench()
    await bench.award()
    attempt_id = await post(bench, GOOD)
    bench.judge.failures = 2
    slow = replace(bench.deps, judge=JudgeMeanwhile(bench))
    await verify_attempt(slow, "ctr_1", attempt_id)
    assert bench.judge.judged == 2
    assert (await contract_row(bench.deps, "ctr_1")).state.system_retries == 1
