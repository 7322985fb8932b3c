from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.governance import Decision, ValidationDecision, ValidationRequest
from aex_outcomes.lifecycle.ruling import Ruling
from aex_runtime.errors import Conflict, InvalidRequest, NotFound
from aex_runtime.records import Timer
from aex_runtime.unit_of_work import Unit
from aex_verification.handlers.admit import load_or_open_contract
from aex_verification.handlers.close import cancel_contract, end_contract_if_deadline_passed, finalise_contract
from aex_verification.handlers.conclude import end_or_hold_closing_contract
from aex_verification.handlers.save_contract import DEADLINE
from aex_verification.handlers.submit_output import MAX_SIDE_BYTES
from aex_verification.handlers.verify_attempt import verify_attempt
from aex_verification.limits import InFlightAttempts
from aex_verification.ports import FoundAward, Grade, Grader, GradeRequest, VerifierRequest
from aex_verification.rules.records import Policy
from aex_verification.subscriptions import timers
from tests.parts.verification import NO_KEY, VerificationBench, make_event
from tests.services.verification.flow import BOT, GOOD, SHORT, grade, opened, outcome, post, review, state, status

WEEK = timedelta(days=7)


async def test_deadline_during_grading_fires_after_the_clock_was_set_back() -> None:
    bench = await opened(None)

    async def forget(unit: Unit) -> None:
        unit.cancel_timer(DEADLINE, "ctr_1")

    await post(bench, SHORT)
    bench.clock.advance(WEEK)
    deadline = Timer(kind=DEADLINE, subject="ctr_1", due_at=bench.clock.now())
    await timers(bench.deps)[DEADLINE](deadline)  # the candidate is under way: the deadline can do nothing
    await bench.deps.unit_of_work.run(forget)
    bench.clock.advance(-timedelta(hours=1))
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.AWAITING_REVISION
    await bench.pass_time(timedelta(hours=2))
    assert await status(bench) is ContractStatus.EXPIRED


async def test_deadline_fires_after_the_clock_was_set_back() -> None:
    bench = await opened(None)
    due = bench.clock.now() + WEEK
    bench.clock.advance(WEEK - timedelta(seconds=1))
    await bench.sweeper.fire_due(due)  # the sweeper looked at a clock that was ahead
    assert await status(bench) is ContractStatus.AWARDED
    await bench.pass_time(timedelta(minutes=1))
    assert await status(bench) is ContractStatus.EXPIRED


async def test_rejection_at_the_deadline_expires_the_contract() -> None:
    bench = await opened(None)
    await post(bench, SHORT)
    bench.clock.advance(WEEK)
    await end_contract_if_deadline_passed(bench.deps, "ctr_1")
    await bench.deliver("output.submitted")
    await bench.pass_time(timedelta(minutes=1))
    assert (await outcome(bench)).final_status is ContractStatus.EXPIRED


@pytest.mark.parametrize("is_finalised", [True, False])
async def test_change_after_the_deadline_expires_the_contract(is_finalised: bool) -> None:
    bench = await opened(None)
    if is_finalised:
        await grade(bench, SHORT)
    bench.clock.advance(WEEK + timedelta(minutes=1))
    change = finalise_contract if is_finalised else cancel_contract
    with pytest.raises(Conflict, match="deadline_passed"):
        await change(bench.deps, "bot" if is_finalised else "acme", "ctr_1", NO_KEY)
    await bench.pass_time(timedelta(minutes=1))
    assert await status(bench) is ContractStatus.EXPIRED


async def test_retry_and_release_keep_a_finalised_contract() -> None:
    bench = await opened(None, consumer=BOT)  # self-dealing: whatever closes is held
    await grade(bench, SHORT)
    await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    await bench.pass_time(timedelta(seconds=1))
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.FINALISED, 1)
    assert str(record.billing_impact.base) == "0.10"
    assert (await post(bench, SHORT)).status is AttemptStatus.JUDGED


class RefusingAwards:
    async def get(self, contract_id: str) -> FoundAward | None:
        raise AssertionError(f"asked for {contract_id[:20]}")


@pytest.mark.parametrize("contract_id", ["ctr_" + '"' * 25_000, "ctr_" + "x" * 125, "work_1"])
async def test_impossible_contract_id_is_not_found_without_a_call(contract_id: str) -> None:
    deps = replace(VerificationBench().deps, awards=RefusingAwards())
    with pytest.raises(NotFound):
        await load_or_open_contract(deps, contract_id)


class GovernanceMeanwhile:
    """Governance whose first answer takes so long that something happens meanwhile."""

    def __init__(self, bench: VerificationBench) -> None:
        self._bench, self._waits = bench, True

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        decision = await self._bench.governance.validate(request)
        if self._waits:
            self._waits = False
            await end_or_hold_closing_contract(self._bench.deps, "ctr_1")  # another replica is quicker: held
            await review(self._bench, Decision.RETRY)
            self._bench.governance.down = lambda: True
            await self._bench.deliver("output.submitted")  # judged and waiting for governance
        return decision


async def test_decision_is_not_applied_to_a_replacing_attempt() -> None:
    bench = await opened(None, consumer=BOT)
    first = (await post(bench, GOOD)).attempt_id
    meanwhile = replace(bench.deps, governance=GovernanceMeanwhile(bench))
    bench.governance.down = lambda: True
    await bench.deliver("output.submitted")  # judged, and waiting for governance
    bench.governance.down = lambda: False
    await end_or_hold_closing_contract(meanwhile, "ctr_1")
    assert (await state(bench)).current_attempt != first
    assert await status(bench) is ContractStatus.VERIFYING  # not held by the decision on the other
    bench.governance.down = lambda: False
    await bench.pass_time(timedelta(minutes=5))
    assert await status(bench) is ContractStatus.HELD
    assert {request.attempt_id for request in bench.governance.requests} == {
        first,
        (await state(bench)).current_attempt,
    }


async def test_lost_evaluation_data_are_held() -> None:
    bench = VerificationBench(policy=Policy(max_system_retries=2))
    awarded = await bench.award(evaluation={"reference": "one two three"})
    assert awarded.evaluation is not None
    lost = awarded.evaluation.model_copy(update={"digest": "0" * 64})
    bench = VerificationBench(policy=Policy(max_system_retries=2))
    data = awarded.model_copy(update={"evaluation": lost})
    await bench.handlers["contract.awarded"](make_event("contract.awarded", "ctr_1", data))
    await grade(bench, GOOD)
    await bench.pass_time(timedelta(minutes=5))
    assert await status(bench) is ContractStatus.HELD
    assert bench.emitted("outcome.held")[0].data["cause"] == "system_retries_exhausted"


@pytest.mark.parametrize(
    "fields",
    [
        {"execution_metadata": {"log": "x" * MAX_SIDE_BYTES}},
        {"claimed_metrics": {f"metric_{n}": 0.5 for n in range(4_000)}},
        {"claimed_values": {f"value_{n}": 0.5 for n in range(4_000)}},
    ],
)
async def test_oversized_metadata_and_claims_are_refused(fields: dict[str, Any]) -> None:
    bench = await opened(None)
    with pytest.raises(InvalidRequest) as refusal:
        await post(bench, GOOD, **fields)
    assert [(each.path, each.code) for each in refusal.value.errors] == [(f"/{next(iter(fields))}", "too_large")]
    assert await status(bench) is ContractStatus.AWARDED


class Overtaken(Grader):
    """Grader and verifiers so slow that another replica takes the attempt for lost, and is quicker."""

    def __init__(self, bench: VerificationBench) -> None:
        self._bench = bench

    async def grade(self, request: GradeRequest) -> Grade:
        found = await self._bench.grader.grade(request)
        await self._verify_elsewhere(request)
        return found

    async def rule(self, request: VerifierRequest) -> Ruling:
        found = await self._bench.verifiers.rule(request)
        await self._verify_elsewhere(request)
        return found

    async def _verify_elsewhere(self, request: GradeRequest | VerifierRequest) -> None:
        other = replace(self._bench.deps, in_flight=InFlightAttempts())
        await verify_attempt(other, request.contract_id, request.attempt_id)


@pytest.mark.parametrize("text", [GOOD, SHORT])
async def test_concurrent_replicas_count_an_attempt_once(text: str) -> None:
    bench = await opened(None)
    attempt_id = (await post(bench, text)).attempt_id
    await verify_attempt(replace(bench.deps, grader=Overtaken(bench)), "ctr_1", attempt_id)
    assert bench.grader.graded == 2
    assert (await state(bench)).verification.attempts_used == 1
    assert len(bench.emitted("outcome.verified")) == (text == GOOD)
    assert len(bench.emitted("output.rejected")) == (text == SHORT)


async def test_concurrent_failures_use_one_system_retry() -> None:
    bench = await opened(None)
    attempt_id = (await post(bench, GOOD)).attempt_id
    bench.grader.failures = 2
    await verify_attempt(replace(bench.deps, grader=Overtaken(bench)), "ctr_1", attempt_id)
    assert bench.grader.graded == 2
    assert (await state(bench)).system_retries == 1


async def test_concurrent_replicas_record_an_invalid_output_once() -> None:
    bench, alone = await opened(), await opened()
    invalid = {"text": ["no", "text"]}
    attempt_id = (await post(bench, invalid)).attempt_id
    await verify_attempt(replace(bench.deps, verifiers=Overtaken(bench)), "ctr_1", attempt_id)
    assert len(bench.verifiers.requests) == 2
    await grade(alone, invalid)
    assert (await state(bench)).state_version == (await state(alone)).state_version
