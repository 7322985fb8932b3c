import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aex_models.audiences import Audience
from aex_models.contract import AttemptStatus, CancelCause, Candidate, ContractStatus
from aex_models.contract_events import ContractEventType
from aex_models.governance import Decision, Party
from aex_models.results import Verdict
from aex_runtime.errors import Conflict, NotFound, TemporarilyUnavailable
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.identity.principals import Principal
from aex_runtime.quotas import StorageBounds
from aex_runtime.telemetry import continue_trace
from aex_verification.handlers.admit import load_or_open_contract
from aex_verification.handlers.close import cancel_contract, decline_contract, finalise_contract
from aex_verification.handlers.read import (
    end_if_due_and_load_visible_contract,
    find_outcome,
    load_attempt,
    make_attempt_view,
    render_attempt,
    render_contract,
)
from aex_verification.handlers.submit_output import submit_output
from aex_verification.repository import ATTEMPTS
from aex_verification.rules.records import AttemptRow, Policy
from tests.parts.verification import NO_KEY, VerificationBench
from tests.services.verification.flow import (
    BOT,
    CONTRACT,
    GOOD,
    SHORT,
    contract_events,
    grade,
    opened,
    outcome,
    post,
    review,
    state,
    status,
)


@pytest.fixture
async def bench() -> VerificationBench:
    return await opened(None)


async def test_rejection_is_fed_back_and_the_revision_passes(bench: VerificationBench) -> None:
    first = await grade(bench, SHORT)
    assert (first.status, first.verdict) == (AttemptStatus.JUDGED, Verdict.REJECTED)
    assert first.feedback is not None
    assert "word_count: not met" in first.feedback
    assert await status(bench) is ContractStatus.AWAITING_REVISION

    second = await grade(bench, GOOD)
    assert (second.verdict, second.counted) == (Verdict.PASSED, True)
    record = await outcome(bench)
    assert record.final_status is ContractStatus.PASSED
    assert record.attempts_used == 2
    assert str(record.billing_impact.total) == "0.15"
    assert record.final_result == {"text": GOOD}


async def test_one_of_many_concurrent_candidates_is_verified(bench: VerificationBench) -> None:
    answers = await asyncio.gather(*(post(bench, f"{n} x y") for n in range(10)), return_exceptions=True)
    taken = [answer for answer in answers if isinstance(answer, AttemptRow)]
    refused = [answer for answer in answers if isinstance(answer, Conflict)]
    assert (len(taken), len(refused)) == (1, 9)
    assert all(each.retry_after_s for each in refused)


async def test_settled_contract_refuses_a_candidate_and_answers_a_replay(bench: VerificationBench) -> None:
    passed = await grade(bench, GOOD)
    with pytest.raises(Conflict, match="contract_closed"):
        await post(bench, "another one entirely")
    assert (await post(bench, GOOD)).attempt_id == passed.attempt_id


async def test_contract_of_another_party_is_not_found(bench: VerificationBench) -> None:
    with pytest.raises(NotFound):
        await submit_output(bench.deps, Party(id="mallory"), "ctr_1", Candidate(output={"text": GOOD}), NO_KEY)


TRACE_OF_AWARD, TRACE_OF_CALLER = "1" * 32, "2" * 32
AWARDED, CALLED = (f"00-{trace}-00f067aa0ba902b7-01" for trace in (TRACE_OF_AWARD, TRACE_OF_CALLER))


@pytest.mark.parametrize("caller", [None, CALLED])
async def test_read_through_contract_has_the_trace_of_its_award(caller: str | None) -> None:
    fresh = VerificationBench()
    fresh.awards.awards["ctr_elsewhere"] = await VerificationBench().award("ctr_elsewhere")
    fresh.awards.traceparent = AWARDED
    with continue_trace(caller, None, "request"):
        row = await load_or_open_contract(fresh.deps, "ctr_elsewhere")
        attempt = await submit_output(fresh.deps, BOT, "ctr_elsewhere", Candidate(output={"text": GOOD}), NO_KEY)
    [deadline] = [timer for timer in await fresh.timers() if timer.kind == "deadline"]
    assert {each.split("-")[1] for each in (row.traceparent or "", deadline.traceparent or "")} == {TRACE_OF_AWARD}
    [submitted] = fresh.emitted("output.submitted")
    assert attempt
    assert (submitted.traceparent or "").split("-")[1] == (TRACE_OF_CALLER if caller else TRACE_OF_AWARD)


@pytest.mark.parametrize("caller", [None, CALLED])
async def test_read_of_an_overdue_contract_expires_it_in_its_own_trace(caller: str | None) -> None:
    bench = VerificationBench()
    with continue_trace(AWARDED, None, "process contract.awarded"):
        await bench.award("ctr_1")
    bench.clock.advance(timedelta(days=8))
    with continue_trace(caller, None, "request"):
        row = await end_if_due_and_load_visible_contract(bench.deps, Principal("acme", Audience.CONSUMER), "ctr_1")
    [verified] = bench.emitted("outcome.verified")
    assert row.state.status is ContractStatus.EXPIRED
    assert (verified.traceparent or "").split("-")[1] == TRACE_OF_AWARD


async def test_trace_of_a_contract_is_never_visible(bench: VerificationBench) -> None:
    with continue_trace(AWARDED, None, "process contract.awarded"):
        await bench.award("ctr_traced")
    row = await load_or_open_contract(bench.deps, "ctr_traced")
    assert TRACE_OF_AWARD in (row.traceparent or "")
    for reader, role in (("acme", Audience.CONSUMER), ("bot", Audience.AGENT), ("olga", Audience.OPERATOR)):
        rendered = await render_contract(bench.deps, Principal(reader, role), row)
        assert TRACE_OF_AWARD not in str(rendered)
        assert "traceparent" not in rendered


async def test_governance_down_waits_without_limit_and_skips_nothing(bench: VerificationBench) -> None:
    bench.governance.down = lambda: True
    row = await grade(bench, GOOD)
    assert row.status is AttemptStatus.WAITING
    await bench.pass_time(timedelta(hours=1))
    assert await find_outcome(bench.deps, "ctr_1") is None
    bench.governance.down = lambda: False
    await bench.pass_time(timedelta(minutes=2))
    assert (await outcome(bench)).final_status is ContractStatus.PASSED
    assert bench.grader.graded == 1


async def test_refused_request_is_held_after_its_retries(bench: VerificationBench) -> None:
    bench.governance.refusing = lambda: True
    row = await grade(bench, GOOD)
    assert row.status is AttemptStatus.WAITING
    await bench.pass_time(timedelta(minutes=10))
    assert await status(bench) is ContractStatus.HELD
    assert len(bench.governance.requests) == 1 + bench.deps.policy.max_system_retries
    assert [event.data["cause"] for event in bench.emitted("outcome.held")] == ["system_retries_exhausted"]
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert (record.final_status, str(record.billing_impact.total)) == (ContractStatus.PASSED, "0.15")


@pytest.mark.parametrize("most", [0, 5])
async def test_governance_has_tries_of_its_own_after_failed_verifications(most: int) -> None:
    bench = await opened(verifier=None, policy=Policy(max_system_retries=most))
    bench.grader.failures, bench.governance.refusing = max(most - 1, 0), lambda: True
    row = await grade(bench, GOOD)
    await bench.pass_time(timedelta(hours=1))
    for retried in range(2):  # an operator's retry restarts both counts
        assert await status(bench) is ContractStatus.HELD
        assert len(bench.governance.requests) == (retried + 1) * (1 + most)
        row = await load_attempt(bench.deps, CONTRACT, (await state(bench)).current_attempt or "")
        assert (row.system_retries, row.governance_tries) == (0 if retried else max(most - 1, 0), most)
        view = await render_attempt(bench.deps, Principal("olga", Audience.OPERATOR), row)
        assert view["system_retries"] == row.system_retries + most
        await review(bench, Decision.RETRY)
        await bench.deliver("output.submitted")
        await bench.pass_time(timedelta(hours=1))


async def test_late_governance_decision_prevents_the_hold(bench: VerificationBench) -> None:
    bench.governance.refusing = lambda: len(bench.governance.requests) < 3
    await grade(bench, GOOD)
    await bench.pass_time(timedelta(minutes=10))
    assert (await outcome(bench)).final_status is ContractStatus.PASSED
    assert bench.emitted("outcome.held") == []


async def test_held_and_retried_pass_stays_hidden_and_ordered() -> None:
    bench = await opened(None, consumer=BOT)
    first = await grade(bench, GOOD)
    await review(bench, Decision.RETRY)
    repeat = await post(bench, GOOD)
    assert (repeat.attempt_id != first.attempt_id, repeat.status) == (True, AttemptStatus.QUEUED)
    found = await ATTEMPTS.find(bench.store, {"contract_id": "ctr_1"}, "created_at")
    assert [each.record.attempt_id == first.attempt_id for each in found] == [True, False]
    reported = await make_attempt_view(bench.deps, found[0].record)
    assert (reported.verdict, reported.result) == (None, None)


async def test_finalising_settles_with_the_best_judged_candidate(bench: VerificationBench) -> None:
    with pytest.raises(Conflict):
        await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    await grade(bench, SHORT)
    await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    record = await outcome(bench)
    assert (record.final_status, str(record.billing_impact.total)) == (ContractStatus.FINALISED, "0.10")


async def test_cancelling_records_no_outcome(bench: VerificationBench) -> None:
    await cancel_contract(bench.deps, "acme", "ctr_1", NO_KEY)
    assert await status(bench) is ContractStatus.CANCELLED
    assert len(bench.emitted("contract.cancelled")) == 1
    assert await find_outcome(bench.deps, "ctr_1") is None
    with pytest.raises(Conflict):
        await post(bench, GOOD)


async def test_declining_agent_ends_the_contract_with_a_visible_cause(bench: VerificationBench) -> None:
    with pytest.raises(NotFound):
        await decline_contract(bench.deps, "mallory", "ctr_1", NO_KEY)
    key = IdempotentRequest("decline", "once", "")
    effects = [await decline_contract(bench.deps, "bot", "ctr_1", key) for _ in range(2)]
    assert [each.is_replay for each in effects] == [False, True]
    acme = Principal("acme", Audience.CONSUMER)
    seen = await render_contract(
        bench.deps, acme, await end_if_due_and_load_visible_contract(bench.deps, acme, "ctr_1")
    )
    assert (seen["status"], seen["cause"]) == ("cancelled", "declined")
    [event] = bench.emitted("contract.cancelled")
    assert event.data == {"contract_id": "ctr_1", "work_id": "work_ctr_1", "cause": "declined"}
    [last] = await contract_events(bench)
    assert (last.type, last.cause) == (ContractEventType.CANCELLED, CancelCause.DECLINED)
    assert (await bench.timers(), await find_outcome(bench.deps, "ctr_1")) == ([], None)
    with pytest.raises(Conflict, match="contract_closed"):
        await cancel_contract(bench.deps, "acme", "ctr_1", NO_KEY)


async def test_declining_after_a_candidate_is_refused(bench: VerificationBench) -> None:
    await grade(bench, SHORT)
    with pytest.raises(Conflict, match="candidate_received: A contract can be declined only before"):
        await decline_contract(bench.deps, "bot", "ctr_1", NO_KEY)


async def test_cancelling_after_a_candidate_is_refused(bench: VerificationBench) -> None:
    await grade(bench, SHORT)
    with pytest.raises(Conflict, match="candidate_received"):
        await cancel_contract(bench.deps, "acme", "ctr_1", NO_KEY)


@pytest.mark.parametrize(("judged", "total"), [(False, "0"), (True, "0.10")])
async def test_deadline_settles_a_judged_candidate(bench: VerificationBench, judged: bool, total: str) -> None:
    if judged:
        await grade(bench, SHORT)
    await bench.pass_time(timedelta(days=8))
    record = await outcome(bench)
    assert (record.final_status, str(record.billing_impact.total)) == (ContractStatus.EXPIRED, total)
    assert (record.verification_result is not None) is judged


async def test_late_candidate_expires_the_contract(bench: VerificationBench) -> None:
    bench.clock.advance(timedelta(days=8))
    with pytest.raises(Conflict, match="deadline_passed"):
        await post(bench, GOOD)
    assert (await outcome(bench)).final_status is ContractStatus.EXPIRED


async def test_concurrent_finalise_cancel_and_post_leave_one_end(bench: VerificationBench) -> None:
    racing: list[Awaitable[Any]] = [
        post(bench, GOOD),
        cancel_contract(bench.deps, "acme", "ctr_1", NO_KEY),
        finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY),
    ]
    await asyncio.gather(*racing, return_exceptions=True)
    await bench.deliver("output.submitted")
    await bench.pass_time(timedelta(minutes=1))
    assert len(bench.emitted("outcome.verified")) + len(bench.emitted("contract.cancelled")) == 1


async def test_nearly_full_disk_refuses_new_candidates_and_judges_accepted_ones(
    bench: VerificationBench, tmp_path: Path
) -> None:
    await post(bench, SHORT)
    bench.rewire(replace(bench.deps, bounds=StorageBounds(0, tmp_path, 1 << 62)))
    await bench.deliver("output.submitted")
    assert (await post(bench, SHORT)).status is AttemptStatus.JUDGED
    with pytest.raises(TemporarilyUnavailable, match="storage_low"):
        await post(bench, GOOD)
    await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    assert (await outcome(bench)).final_status is ContractStatus.FINALISED
