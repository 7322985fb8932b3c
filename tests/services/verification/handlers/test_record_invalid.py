from datetime import timedelta
from typing import Any

import pytest

from aex_models.audiences import Audience, project
from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.contract_events import ContractEventType
from aex_models.governance import Decision, Party
from aex_runtime.errors import Conflict
from aex_verification.handlers.close import cancel_contract, end_contract_if_deadline_passed, finalise_contract
from aex_verification.handlers.read import load_attempt, make_attempt_view
from aex_verification.rules.records import Policy
from tests.parts.verification import NO_KEY, VerificationBench
from tests.services.verification.flow import (
    DULL,
    GOOD,
    contract_events,
    grade,
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


async def test_invalid_output_has_errors_and_costs_nothing(bench: VerificationBench) -> None:
    row = await grade(bench, INVALID)
    assert (row.status, row.counted, row.verdict, row.result) == (AttemptStatus.INVALID, False, None, None)
    assert [(each.path, each.code) for each in row.errors] == [("/output/text", "string_type")]
    assert row.feedback is not None
    assert row.feedback.startswith('<output_invalid errors="1">\n- /output/text: ')
    reported = project(await make_attempt_view(bench.deps, row), Audience.AGENT)
    assert (reported["status"], [each["path"] for each in reported["errors"]]) == ("invalid", ["/output/text"])
    assert (await state(bench)).verification.attempts_used == 0
    assert bench.grader.graded == 0, "there is nothing for the criteria to judge"
    assert bench.governance.requests == []
    assert bench.emitted("output.rejected") == []
    assert await contract_events(bench) == []


async def test_invalid_first_candidate_leaves_the_contract_awarded(bench: VerificationBench) -> None:
    row = await grade(bench, INVALID)
    found = await state(bench)
    assert (found.status, found.current_attempt) == (ContractStatus.AWARDED, None)
    assert found.waiting_since == bench.clock.now()
    assert found.last_feedback == row.feedback
    assert {timer.kind for timer in await bench.timers()} == {"deadline"}
    await grade(bench, GOOD)
    assert (await outcome(bench)).attempts_used == 1


async def test_invalid_revision_leaves_the_contract_awaiting_another(bench: VerificationBench) -> None:
    await grade(bench, DULL)
    await grade(bench, INVALID)
    found = await state(bench)
    assert (found.status, found.verification.attempts_used) == (ContractStatus.AWAITING_REVISION, 1)
    await grade(bench, GOOD)
    assert (await outcome(bench)).attempts_used == 2
    assert [request.agent.attempt for request in bench.verifiers.requests] == [1, 2, 2]
    assert [request.agent.turn for request in bench.verifiers.requests] == [1, 2, 3]
    assert "output_invalid" in bench.verifiers.requests[-1].agent.messages[0]["content"]


@pytest.mark.parametrize("rejected_before", [False, True])
async def test_deadline_during_grading_expires_the_contract(bench: VerificationBench, rejected_before: bool) -> None:
    if rejected_before:
        await grade(bench, DULL)
    row = await post(bench, INVALID)
    bench.clock.advance(WEEK)
    await end_contract_if_deadline_passed(bench.deps, "ctr_1")
    assert await status(bench) is ContractStatus.VERIFYING, "the candidate came in time"
    await bench.deliver("output.submitted")
    record = await outcome(bench)
    assert record.final_status is ContractStatus.EXPIRED
    assert (record.verification_result is not None) is rejected_before
    assert str(record.billing_impact.total) == ("0.10" if rejected_before else "0")
    assert (await load_attempt(bench.deps, "ctr_1", row.attempt_id)).status is AttemptStatus.INVALID
    assert len(bench.emitted("outcome.verified")) == 1
    assert await bench.timers() == []
    [*_, last] = await contract_events(bench)
    assert (last.type, last.attempt_id is not None) == (ContractEventType.EXPIRED, rejected_before)


async def test_repeated_invalid_output_is_a_replay(bench: VerificationBench) -> None:
    attempts = {(await grade(bench, INVALID)).attempt_id for _ in range(3)}
    before = await state(bench)
    await bench.deliver("output.submitted")
    assert (await state(bench), len(attempts)) == (before, 1)
    assert len(bench.verifiers.requests) == 1
    other = await grade(bench, OTHER)
    assert other.attempt_id not in attempts


async def test_invalid_output_allows_no_end(bench: VerificationBench) -> None:
    for number in range(5):  # more than there are attempts
        await grade(bench, {"text": number})
    assert await status(bench) is ContractStatus.AWARDED
    with pytest.raises(Conflict, match="candidate_received"):
        await cancel_contract(bench.deps, "acme", "ctr_1", NO_KEY)
    with pytest.raises(Conflict, match="nothing_judged"):
        await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)


async def test_invalid_output_clears_an_earlier_failure(bench: VerificationBench) -> None:
    bench.verifiers.failures = 1
    row = await grade(bench, INVALID)
    assert row.status is AttemptStatus.WAITING
    await bench.pass_time(timedelta(minutes=1))
    row = await load_attempt(bench.deps, "ctr_1", row.attempt_id)
    assert (row.status, row.last_error, row.counted) == (AttemptStatus.INVALID, None, False)
    found = await state(bench)
    assert (found.status, found.system_retries) == (ContractStatus.AWARDED, 0)


async def test_retried_invalid_output_returns_to_the_agent() -> None:
    bench = await opened(policy=Policy(max_system_retries=0))
    bench.verifiers.failures = 1
    await grade(bench, INVALID)
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.AWARDED
    await grade(bench, GOOD)
    assert (await outcome(bench)).attempts_used == 1


async def test_passed_candidate_invalid_on_retry_is_held_twice() -> None:
    bench = await opened(consumer=Party(id="bot"))  # self-dealing: held
    await grade(bench, GOOD)
    bench.verifiers.by_name["summary"] = bench.verifiers.by_name["strict"]
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    found = await state(bench)
    assert (found.status, found.verification.attempts_used) == (ContractStatus.HELD, 1)
    with pytest.raises(Conflict, match="held for review"):
        await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    await review(bench, Decision.REJECT)
    assert await status(bench) is ContractStatus.FAILED
