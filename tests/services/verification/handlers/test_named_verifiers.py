from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

import pytest

from aex_models.contract import AttemptStatus, Candidate, ContractStatus
from aex_models.contract_events import ContractEventType
from aex_models.governance import Action, Party
from aex_models.results import Verdict
from aex_models.work import FeedbackLevel
from aex_verification.fair_slots import FairSlots
from aex_verification.handlers.admit import load_or_open_contract
from aex_verification.handlers.read import load_attempt
from aex_verification.handlers.submit_output import submit_output
from aex_verification.slow_jobs import SlowJobs
from tests.parts.verification import NO_KEY, VerificationBench
from tests.services.verification.flow import (
    DULL,
    GOOD,
    HOPELESS,
    SHORT,
    contract_events,
    grade,
    opened,
    outcome,
    state,
    status,
)

WORDS = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "bonus": "0.05", "penalty": "0.02"}


async def test_revision_after_a_rejection_has_the_verifiers_result(bench: VerificationBench) -> None:
    first = await grade(bench, DULL)
    assert (first.status, first.verdict, first.counted) == (AttemptStatus.JUDGED, Verdict.REJECTED, True)
    assert first.feedback is not None
    assert '<verification_rejected code="too_dull" attempt="1" max_attempts="3">' in first.feedback
    assert f"Summary: Attempt 1 is dull: {DULL}" in first.feedback
    assert await status(bench) is ContractStatus.AWAITING_REVISION
    second = await grade(bench, GOOD)
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 2)
    assert record.final_result == {"title": "One Two Three", "attempt_id": second.attempt_id}
    assert str(record.billing_impact.total) == "0.15"


async def test_rejection_has_its_code_and_message(bench: VerificationBench) -> None:
    row = await grade(bench, DULL)
    await grade(bench, SHORT)
    assert [event.data["code"] for event in bench.emitted("output.rejected")] == ["too_dull", "criteria_not_met"]
    [event, by_criteria] = await contract_events(bench)
    assert (by_criteria.code, by_criteria.message) == ("criteria_not_met", "1 of 1 criteria not met.")
    rejected = ContractEventType.VERIFICATION_REJECTED
    assert (event.type, event.seq, event.attempt_id) == (rejected, 1, row.attempt_id)
    assert (event.code, event.message, event.attempt_counted) == ("too_dull", f"Attempt 1 is dull: {DULL}", True)


@pytest.mark.parametrize("level", list(FeedbackLevel))
async def test_feedback_level_limits_the_verifiers_message(level: FeedbackLevel) -> None:
    bench = await opened(verification={"feedback": level})
    row = await grade(bench, DULL)
    assert row.feedback is not None
    assert ("Attempt 1 is dull" in row.feedback) is (level is not FeedbackLevel.NONE)
    assert ("- attempt: 1" in row.feedback) is (level is FeedbackLevel.FULL)
    [event] = await contract_events(bench)
    assert (event.message is None) is (level is FeedbackLevel.NONE)


async def test_distinct_rejections_use_the_attempts_up(bench: VerificationBench) -> None:
    for number in range(3):
        await grade(bench, f"{DULL} {number}")
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used, record.final_result) == (ContractStatus.EXHAUSTED, 3, None)
    assert str(record.billing_impact.total) == "0.10"
    types = [event.type.value for event in await contract_events(bench)]
    assert types == ["verification_rejected"] * 3 + ["verification_exhausted"]


async def test_repeated_candidate_is_free_and_a_corrected_claim_makes_a_new_one(bench: VerificationBench) -> None:
    attempts = {(await grade(bench, DULL)).attempt_id for _ in range(3)}
    assert (len(attempts), len(bench.verifiers.requests), bench.grader.graded) == (1, 1, 1)
    await grade(bench, DULL, claimed_metrics={"word_count": 4})
    assert [request.candidate.output["text"] for request in bench.verifiers.requests] == [DULL, DULL]
    assert (await state(bench)).verification.attempts_used == 2


async def test_verifier_input_has_no_evaluation_data() -> None:
    bench = await opened(evaluation={"reference": "the hidden reference", "required_keywords": ["hidden"]})
    await grade(bench, DULL)
    await grade(bench, GOOD)
    first, second = bench.verifiers.requests
    assert "hidden" not in str((first, second))
    assert (first.agent.turn, first.agent.attempt, first.agent.messages) == (1, 1, [])
    assert (second.agent.turn, second.agent.attempt) == (2, 2)
    [message] = second.agent.messages
    assert message["role"] == "user"
    assert 'code="too_dull"' in message["content"]
    assert second.agent.verification.attempts_used == 1
    assert (second.agent.query, second.agent.output) == ({}, {"text": GOOD})


async def test_attempts_without_a_slot_are_delayed_uncounted(bench: VerificationBench) -> None:
    bench.rewire(replace(bench.deps, slow_jobs=SlowJobs(FairSlots(1, 0))))
    with ExitStack() as endless:
        assert bench.deps.slow_jobs.try_acquire("acme", endless)
        row = await grade(bench, GOOD)
        await bench.pass_time(timedelta(minutes=10))
        assert (bench.verifiers.requests, row.status) == ([], AttemptStatus.QUEUED)
        await bench.award("ctr_2")
        candidate = Candidate(output={"text": GOOD})
        await submit_output(bench.deps, Party(id="bot"), "ctr_2", candidate, NO_KEY)
        await bench.deliver("output.submitted")
        assert (await load_or_open_contract(bench.deps, "ctr_2")).state.status is ContractStatus.PASSED
    await bench.pass_time(timedelta(minutes=2))
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 1)
    assert (await load_attempt(bench.deps, "ctr_1", row.attempt_id)).system_retries == 0


async def test_fatal_error_ends_the_contract(bench: VerificationBench) -> None:
    row = await grade(bench, HOPELESS)
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


async def test_outcome_after_a_fatal_error_rests_on_the_best_candidate() -> None:
    bench = await opened(success_criteria={"criteria": [WORDS | {"threshold": 3}, WORDS | {"threshold": 9}]})
    better = await grade(bench, f"{DULL} and so on and on and on")
    await grade(bench, HOPELESS)
    record = await outcome(bench)
    assert record.verification_result is not None
    assert record.verification_result.weighted_score == 1.0
    assert record.verification_result.candidate_hash == better.candidate_hash
    assert (record.final_status, record.attempts_used) == (ContractStatus.FAILED, 2)
    assert str(record.billing_impact.penalty) == "0", "the better one met both"
