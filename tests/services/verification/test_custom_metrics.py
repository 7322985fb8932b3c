"""A consumer's own code that fails on a real candidate: an operator decides, and nobody pays for it until then."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from aex_models.audiences import Audience, Disclosure, project, project_event
from aex_models.contract import AttemptStatus, Candidate, ContractStatus
from aex_models.events import OutcomeReviewed, OutcomeVerified
from aex_models.governance import Decision, HoldCause, Party
from aex_models.money import ZERO
from aex_models.outcome import OutcomeRecord
from aex_models.results import Verdict
from aex_models.work import FeedbackLevel
from aex_outcomes.sandbox.port import CodeFault, FaultKind, SandboxUnavailable
from aex_verification.handlers.admit import contract_row
from aex_verification.handlers.read import attempt_row, attempt_view, outcome_of
from aex_verification.handlers.submit_output import submit_output
from aex_verification.rules.policy import Policy
from aex_verification.rules.records import AttemptRow
from aex_verification.turnstile import Turnstile
from tests.parts.verification import NO_KEY, VerificationBench, event_of

CRITERIA = [
    {"metric": name, "metric_type": "count", "comparison": "gte", "threshold": 3, "bonus": "0.05", "penalty": "0.07"}
    for name in ("custom.mine", "custom.other", "word_count")
]
EVALUATION = {
    "custom_metrics": [{"name": name, "code": f"def evaluate(i, o, m): {name}"} for name in ("mine", "other")]
}
FAULT = CodeFault(FaultKind.EXCEPTION, "KeyError: canary")
AWAY = SandboxUnavailable("away")


@pytest.fixture
async def bench() -> VerificationBench:
    bench = VerificationBench(policy=Policy(max_system_retries=2))
    await bench.award(success_criteria={"criteria": CRITERIA}, evaluation=EVALUATION)
    meeting(bench, mine=FAULT)
    return bench


def meeting(bench: VerificationBench, **faults: Exception) -> None:
    """What each piece of code meets from now on."""
    bench.judge.sandbox.meets = lambda code: faults.get(code.rpartition(" ")[2])


async def post(bench: VerificationBench, text: str = "one two three") -> AttemptRow:
    candidate = Candidate.model_validate({"output": {"text": text}})
    effect, _ = await submit_output(bench.deps, Party(id="bot"), "ctr_1", candidate, NO_KEY)
    await bench.deliver("output.submitted")
    return await attempt_row(bench.deps, "ctr_1", effect.resource_id)


async def review(bench: VerificationBench, decision: Decision) -> None:
    held = bench.emitted("outcome.held")[-1].data
    data = OutcomeReviewed(
        hold_id=f"hold_{held['attempt_id']}",
        contract_id="ctr_1",
        attempt_id=held["attempt_id"],
        decision=decision,
        reason="read the code",
        by="olga",
    )
    await bench.handlers["outcome.reviewed"](event_of("outcome.reviewed", "ctr_1", data))


async def status(bench: VerificationBench) -> ContractStatus:
    return (await contract_row(bench.deps, "ctr_1")).state.status


async def outcome(bench: VerificationBench) -> OutcomeRecord:
    record = await outcome_of(bench.deps, "ctr_1")
    assert record is not None
    return record


async def test_failing_code_holds_the_outcome_at_once_uncounted(bench: VerificationBench) -> None:
    row = await post(bench)
    assert (row.status, row.verdict, row.counted) == (AttemptStatus.HELD, Verdict.INDETERMINATE, False)
    assert await status(bench) is ContractStatus.HELD
    assert [event.data["cause"] for event in bench.emitted("outcome.held")] == [HoldCause.CUSTOM_METRIC_FAILED]
    await bench.pass_time(timedelta(hours=1))
    assert bench.judge.judged == 1, "nothing would be different another time"
    assert (await contract_row(bench.deps, "ctr_1")).state.verification.attempts_used == 0
    assert await outcome_of(bench.deps, "ctr_1") is None


@pytest.mark.parametrize("decision", [Decision.RELEASE, Decision.REJECT])
async def test_what_is_held_undecided_names_its_candidate_and_so_does_the_outcome(
    bench: VerificationBench, decision: Decision
) -> None:
    bench.clock.advance(timedelta(minutes=7))
    row = await post(bench)
    assert row.result is not None
    assert row.result.candidate_hash == row.candidate_hash
    assert row.result.verified_at == bench.clock.now()
    await review(bench, decision)
    recorded = (await outcome(bench)).verification_result
    assert recorded is not None
    assert recorded.candidate_hash == row.candidate_hash


async def test_beside_another_failure_of_the_platform_it_is_tried_again_first(bench: VerificationBench) -> None:
    meeting(bench, mine=FAULT, other=AWAY)
    row = await post(bench)
    assert row.status is AttemptStatus.WAITING
    meeting(bench, mine=FAULT)
    await bench.pass_time(timedelta(minutes=1))
    assert [event.data["cause"] for event in bench.emitted("outcome.held")] == [HoldCause.CUSTOM_METRIC_FAILED]
    assert bench.judge.judged == 2


async def test_a_sandbox_that_is_away_is_waited_for_and_costs_no_attempt(bench: VerificationBench) -> None:
    meeting(bench, mine=AWAY, other=AWAY)
    await post(bench)
    meeting(bench)
    await bench.pass_time(timedelta(minutes=1))
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 1)
    assert bench.emitted("outcome.held") == []


async def test_a_sandbox_that_stays_away_puts_the_outcome_before_an_operator(bench: VerificationBench) -> None:
    meeting(bench, mine=AWAY, other=AWAY)
    await post(bench)
    await bench.pass_time(timedelta(hours=1))
    assert [event.data["cause"] for event in bench.emitted("outcome.held")] == [HoldCause.SYSTEM_RETRIES_EXHAUSTED]


async def test_attempts_that_find_no_place_come_again_uncounted_and_leave_others_alone(
    bench: VerificationBench,
) -> None:
    meeting(bench)
    bench.rewire(replace(bench.deps, slow_places=Turnstile(1, 1)))
    with bench.deps.slow_places.passed("acme"):  # somebody's code runs, and runs
        row = await post(bench)
        await bench.pass_time(timedelta(minutes=10))
        assert (bench.judge.judged, await status(bench)) == (0, ContractStatus.VERIFYING)
        await bench.award("ctr_2")
        candidate = Candidate.model_validate({"output": {"text": "one two three"}})
        await submit_output(bench.deps, Party(id="bot"), "ctr_2", candidate, NO_KEY)
        await bench.deliver("output.submitted")
        assert (await contract_row(bench.deps, "ctr_2")).state.status is ContractStatus.PASSED
    await bench.pass_time(timedelta(minutes=2))
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 1)
    assert (await attempt_row(bench.deps, "ctr_1", row.attempt_id)).system_retries == 0


async def test_released_it_is_a_success_without_bonus_or_penalty(bench: VerificationBench) -> None:
    await post(bench)
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert record.verification_result is not None
    assert (record.final_status, record.verification_result.success) == (ContractStatus.PASSED, True)
    impact = record.billing_impact
    assert (impact.base, impact.bonus, impact.penalty) == (Decimal("0.10"), ZERO, ZERO)


async def test_rejected_it_fails_and_costs_nothing(bench: VerificationBench) -> None:
    await post(bench)
    await review(bench, Decision.REJECT)
    record = await outcome(bench)
    assert (record.final_status, record.billing_impact.total) == (ContractStatus.FAILED, ZERO)


async def test_retried_it_is_judged_anew_and_counted_once(bench: VerificationBench) -> None:
    first = await post(bench)
    meeting(bench)
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 1)
    assert str(record.billing_impact.total) == "0.25"
    assert bench.judge.judged == 2
    assert (await attempt_row(bench.deps, "ctr_1", first.attempt_id)).status is AttemptStatus.JUDGED


async def test_retried_while_the_code_still_fails_it_is_held_again(bench: VerificationBench) -> None:
    await post(bench)
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    held = [event.data["attempt_id"] for event in bench.emitted("outcome.held")]
    assert len(set(held)) == 2
    assert await status(bench) is ContractStatus.HELD


@pytest.mark.parametrize("level", list(FeedbackLevel))
async def test_what_the_code_said_is_never_the_agents_nor_the_events(
    bench: VerificationBench, level: FeedbackLevel
) -> None:
    row = await post(bench)
    held = project(await attempt_view(bench.deps, row, whole=True), Audience.AGENT, Disclosure(level=level))
    assert held["result"] is None
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    shown = project(record, Audience.AGENT, Disclosure(level=level))
    event = project_event(OutcomeVerified(outcome=record))
    for told in (held, shown, event, [each.data for each in bench.events]):
        assert "canary" not in str(told)
    assert "canary" in str(project(record, Audience.CONSUMER, Disclosure(output=True)))
