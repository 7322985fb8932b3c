"""Works that name a verifier: what it rejects counts, what it accepts is paid, and its words reach the agent."""

from dataclasses import replace
from datetime import timedelta

import pytest

from aex_models.contract import AttemptStatus, Candidate, ContractStatus
from aex_models.contract_events import ContractEventType
from aex_models.governance import Action, Party
from aex_models.results import Verdict
from aex_models.work import FeedbackLevel
from aex_verification.handlers.admit import contract_row
from aex_verification.handlers.read import attempt_row
from aex_verification.handlers.submit_output import submit_output
from aex_verification.turnstile import Turnstile
from tests.parts.verification import NO_KEY, VerificationBench
from tests.services.verification.flow import (
    DULL,
    GOOD,
    HOPELESS,
    SHORT,
    contract_events,
    judge,
    opened,
    outcome,
    state,
    status,
)

WORDS = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "bonus": "0.05", "penalty": "0.02"}


@pytest.fixture
async def bench() -> VerificationBench:
    return await opened()


async def test_a_rejection_and_then_a_pass_give_the_result_that_the_verifier_made(bench: VerificationBench) -> None:
    first = await judge(bench, DULL)
    assert (first.status, first.verdict, first.counted) == (AttemptStatus.JUDGED, Verdict.REJECTED, True)
    assert first.feedback is not None
    assert '<verification_rejected code="too_dull" attempt="1" max_attempts="3">' in first.feedback
    assert f"Summary: Attempt 1 is dull: {DULL}" in first.feedback
    assert await status(bench) is ContractStatus.AWAITING_REVISION
    second = await judge(bench, GOOD)
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 2)
    assert record.final_result == {"title": "One Two Three", "attempt_id": second.attempt_id}
    assert str(record.billing_impact.total) == "0.15"


async def test_a_rejection_is_told_with_the_verifiers_code_and_words(bench: VerificationBench) -> None:
    row = await judge(bench, DULL)
    assert [event.data["code"] for event in bench.emitted("output.rejected")] == ["too_dull"]
    [told] = await contract_events(bench)
    assert (told.type, told.seq, told.attempt_id) == (ContractEventType.VERIFICATION_REJECTED, 1, row.attempt_id)
    assert (told.code, told.message, told.attempt_counted) == ("too_dull", f"Attempt 1 is dull: {DULL}", True)


async def test_what_the_criteria_alone_reject_is_told_in_their_words(bench: VerificationBench) -> None:
    await judge(bench, SHORT)
    [told] = await contract_events(bench)
    assert (told.code, told.message) == ("criteria_not_met", "1 of 1 criteria not met.")
    assert [event.data["code"] for event in bench.emitted("output.rejected")] == ["criteria_not_met"]


@pytest.mark.parametrize("level", list(FeedbackLevel))
async def test_how_much_of_the_verifiers_words_is_told_is_the_works_choice(level: FeedbackLevel) -> None:
    bench = await opened(verification={"feedback": level})
    row = await judge(bench, DULL)
    assert row.feedback is not None
    assert ("Attempt 1 is dull" in row.feedback) is (level is not FeedbackLevel.NONE)
    assert ("- attempt: 1" in row.feedback) is (level is FeedbackLevel.FULL)
    [told] = await contract_events(bench)
    assert (told.message is None) is (level is FeedbackLevel.NONE)


async def test_distinct_rejections_use_the_attempts_up(bench: VerificationBench) -> None:
    for number in range(3):
        await judge(bench, f"{DULL} {number}")
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used, record.final_result) == (ContractStatus.EXHAUSTED, 3, None)
    types = [event.type.value for event in await contract_events(bench)]
    assert types == ["verification_rejected"] * 3 + ["verification_exhausted"]


async def test_the_same_rejected_candidate_ten_times_costs_one_attempt_and_no_work(bench: VerificationBench) -> None:
    attempts = {(await judge(bench, DULL)).attempt_id for _ in range(10)}
    assert len(attempts) == 1
    assert (len(bench.verifiers.asked), bench.judge.judged) == (1, 1)
    assert (await state(bench)).verification.attempts_used == 1


async def test_a_corrected_claim_with_the_same_output_is_verified_as_a_new_candidate(bench: VerificationBench) -> None:
    await judge(bench, DULL)
    await judge(bench, DULL, claimed_metrics={"word_count": 4})
    assert len(bench.verifiers.asked) == 2
    assert (await state(bench)).verification.attempts_used == 2


async def test_a_verifier_is_told_the_agents_side_and_no_evaluation_data() -> None:
    bench = await opened(evaluation={"reference": "the hidden reference", "required_keywords": ["hidden"]})
    await judge(bench, DULL)
    await judge(bench, GOOD)
    first, second = bench.verifiers.asked
    assert "hidden" not in str((first, second))
    assert (first.agent.turn, first.agent.attempt, first.agent.messages) == (1, 1, [])
    assert (second.agent.turn, second.agent.attempt) == (2, 2)
    [told] = second.agent.messages
    assert told["role"] == "user"
    assert 'code="too_dull"' in told["content"]
    assert second.agent.verification.attempts_used == 1
    assert (second.agent.query, second.agent.output) == ({}, {"text": GOOD})


async def test_attempts_that_find_no_place_come_again_uncounted_and_leave_others_alone(
    bench: VerificationBench,
) -> None:
    bench.rewire(replace(bench.deps, slow_places=Turnstile(1, 1)))
    with bench.deps.slow_places.passed("acme"):  # somebody's verifier runs, and runs
        row = await judge(bench, GOOD)
        await bench.pass_time(timedelta(minutes=10))
        assert (bench.verifiers.asked, row.status) == ([], AttemptStatus.QUEUED)
        await bench.award("ctr_2")
        candidate = Candidate(output={"text": GOOD})
        await submit_output(bench.deps, Party(id="bot"), "ctr_2", candidate, NO_KEY)
        await bench.deliver("output.submitted")
        assert (await contract_row(bench.deps, "ctr_2")).state.status is ContractStatus.PASSED
    await bench.pass_time(timedelta(minutes=2))
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 1)
    assert (await attempt_row(bench.deps, "ctr_1", row.attempt_id)).system_retries == 0


async def test_a_fatal_error_ends_the_contract_at_once(bench: VerificationBench) -> None:
    row = await judge(bench, HOPELESS)
    assert (row.verdict, row.counted) == (Verdict.REJECTED, True)
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used, record.final_result) == (ContractStatus.FAILED, 1, None)
    assert record.verification_result is not None
    assert record.verification_result.governance.action is Action.ALLOW
    assert str(record.billing_impact.total) == "0.10"
    events = await contract_events(bench)
    assert [(event.type.value, event.code) for event in events] == [
        ("verification_rejected", "fatal"),
        ("failed", None),
    ]


async def test_after_a_fatal_error_the_outcome_rests_on_a_better_candidate_that_came_before() -> None:
    bench = await opened(success_criteria={"criteria": [WORDS | {"threshold": 3}, WORDS | {"threshold": 9}]})
    better = await judge(bench, f"{DULL} and so on and on and on")
    await judge(bench, HOPELESS)
    record = await outcome(bench)
    assert record.verification_result is not None
    assert record.verification_result.weighted_score == 1.0
    assert record.verification_result.candidate_hash == better.candidate_hash
    assert (record.final_status, record.attempts_used) == (ContractStatus.FAILED, 2)
    assert str(record.billing_impact.penalty) == "0", "the better one met both"
