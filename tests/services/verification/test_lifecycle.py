"""A contract's life through verification's handlers, with the real engine and governance's real rules."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

import pytest

from aex_models.audiences import Audience
from aex_models.contract import AttemptStatus, Candidate, ContractStatus
from aex_models.events import OutcomeReviewed
from aex_models.governance import Action, Decision, Party
from aex_models.outcome import OutcomeRecord
from aex_models.results import Verdict
from aex_runtime.errors import Conflict, InvalidRequest, NotFound
from aex_runtime.identity.principal import Principal
from aex_runtime.telemetry import continue_trace
from aex_verification.handlers.admit import contract_row
from aex_verification.handlers.close import cancel_contract, finalise_contract
from aex_verification.handlers.read import attempt_row, attempt_view, outcome_of, shown_contract, visible_contract
from aex_verification.handlers.submit_output import submit_output
from aex_verification.repository import ATTEMPTS
from aex_verification.rules.policy import Policy
from aex_verification.rules.records import AttemptRow
from tests.parts.verification import NO_KEY, VerificationBench, event_of

BOT = Party(id="bot")
GOOD, BAD = "one two three four", "one"


def candidate(text: str, **more: Any) -> Candidate:
    return Candidate.model_validate({"output": {"text": text}, **more})


async def post(bench: VerificationBench, text: str, **more: Any) -> AttemptRow:
    effect, _ = await submit_output(bench.deps, BOT, "ctr_1", candidate(text, **more), NO_KEY)
    return await attempt_row(bench.deps, "ctr_1", effect.resource_id)


async def judge(bench: VerificationBench, text: str, **more: Any) -> AttemptRow:
    row = await post(bench, text, **more)
    await bench.deliver("output.submitted")
    return await attempt_row(bench.deps, "ctr_1", row.attempt_id)


async def status(bench: VerificationBench) -> ContractStatus:
    return (await contract_row(bench.deps, "ctr_1")).state.status


async def outcome(bench: VerificationBench) -> OutcomeRecord:
    record = await outcome_of(bench.deps, "ctr_1")
    assert record is not None
    return record


async def review(bench: VerificationBench, decision: Decision) -> None:
    [held] = bench.emitted("outcome.held")[-1:]
    data = OutcomeReviewed(
        hold_id="hold_1",
        contract_id="ctr_1",
        attempt_id=held.data["attempt_id"],
        decision=decision,
        reason="looked at it",
        by="olga",
    )
    await bench.handlers["outcome.reviewed"](event_of("outcome.reviewed", "ctr_1", data))


@pytest.fixture
async def bench() -> VerificationBench:
    bench = VerificationBench()
    await bench.award()
    return bench


async def test_rejection_is_fed_back_and_the_revision_passes(bench: VerificationBench) -> None:
    first = await judge(bench, BAD)
    assert (first.status, first.verdict) == (AttemptStatus.JUDGED, Verdict.REJECTED)
    assert first.feedback is not None
    assert "word_count: not met" in first.feedback
    assert await status(bench) is ContractStatus.AWAITING_REVISION

    second = await judge(bench, GOOD)
    assert (second.verdict, second.counted) == (Verdict.PASSED, True)
    record = await outcome(bench)
    assert record.final_status is ContractStatus.PASSED
    assert record.attempts_used == 2
    assert str(record.billing_impact.total) == "0.15"
    assert record.final_result == {"text": GOOD}


async def test_the_event_of_an_outcome_carries_nothing_that_the_candidate_said(bench: VerificationBench) -> None:
    await judge(bench, GOOD, execution_metadata={"model": "secret-model"})
    [event] = bench.emitted("outcome.verified")
    assert GOOD not in str(event.data)
    assert "secret-model" not in str(event.data)


async def test_attempts_used_up_exhaust_the_contract(bench: VerificationBench) -> None:
    for text in ("a", "b", "c"):
        await judge(bench, text)
    record = await outcome(bench)
    assert record.final_status is ContractStatus.EXHAUSTED
    assert record.verification_result is not None
    assert not record.verification_result.success
    assert str(record.billing_impact.total) == "0.10"


async def test_the_same_rejected_candidate_costs_one_attempt_and_no_work(bench: VerificationBench) -> None:
    first = await judge(bench, BAD)
    for _ in range(9):
        again = await judge(bench, BAD)
        assert again.attempt_id == first.attempt_id
    assert (await contract_row(bench.deps, "ctr_1")).state.verification.attempts_used == 1
    assert bench.judge.judged == 1


async def test_a_corrected_claim_with_the_same_output_is_a_new_candidate(bench: VerificationBench) -> None:
    first = await judge(bench, BAD)
    second = await judge(bench, BAD, claimed_metrics={"word_count": 1})
    assert first.attempt_id != second.attempt_id
    assert first.output_hash == second.output_hash


async def test_a_replayed_job_judges_nothing_twice(bench: VerificationBench) -> None:
    await judge(bench, GOOD)
    for _ in range(4):
        await bench.deliver("output.submitted")
    assert bench.judge.judged == 1
    assert len(bench.emitted("outcome.verified")) == 1


async def test_of_many_candidates_at_once_one_is_verified(bench: VerificationBench) -> None:
    answers = await asyncio.gather(*(post(bench, f"{n} x y") for n in range(50)), return_exceptions=True)
    taken = [answer for answer in answers if isinstance(answer, AttemptRow)]
    refused = [answer for answer in answers if isinstance(answer, Conflict)]
    assert (len(taken), len(refused)) == (1, 49)
    assert all(each.retry_after_s for each in refused)


async def test_a_candidate_for_a_settled_contract_is_refused_but_its_replay_is_answered(
    bench: VerificationBench,
) -> None:
    passed = await judge(bench, GOOD)
    with pytest.raises(Conflict) as refusal:
        await post(bench, "another one entirely")
    assert refusal.value.code == "contract_closed"
    assert (await post(bench, GOOD)).attempt_id == passed.attempt_id


async def test_somebody_elses_contract_is_not_found(bench: VerificationBench) -> None:
    with pytest.raises(NotFound):
        await submit_output(bench.deps, Party(id="mallory"), "ctr_1", candidate(GOOD), NO_KEY)


async def test_an_award_whose_event_has_not_come_is_read_through() -> None:
    bench = VerificationBench()
    awarded = await bench.award("ctr_elsewhere")
    fresh = VerificationBench()
    fresh.awards.awards["ctr_elsewhere"] = awarded
    assert (await contract_row(fresh.deps, "ctr_elsewhere")).agent_id == "bot"


TRACE_OF_AWARD, TRACE_OF_CALLER = "1" * 32, "2" * 32


@pytest.mark.parametrize("caller", [None, f"00-{TRACE_OF_CALLER}-00f067aa0ba902b7-01"])
async def test_a_contract_that_is_read_through_has_the_trace_of_its_award(caller: str | None) -> None:
    bench = VerificationBench()
    awarded = await bench.award("ctr_elsewhere")
    fresh = VerificationBench()
    fresh.awards.awards["ctr_elsewhere"] = awarded
    fresh.awards.traceparent = f"00-{TRACE_OF_AWARD}-00f067aa0ba902b7-01"
    with continue_trace(caller, None, "request"):
        row = await contract_row(fresh.deps, "ctr_elsewhere")
        attempt = await submit_output(fresh.deps, Party(id="bot"), "ctr_elsewhere", candidate(GOOD), NO_KEY)
    [deadline] = [timer for timer in await fresh.timers() if timer.kind == "deadline"]
    assert {each.split("-")[1] for each in (row.traceparent or "", deadline.traceparent or "")} == {TRACE_OF_AWARD}
    [submitted] = fresh.emitted("output.submitted")
    assert attempt
    assert (submitted.traceparent or "").split("-")[1] == (TRACE_OF_CALLER if caller else TRACE_OF_AWARD)


@pytest.mark.parametrize("caller", [None, f"00-{TRACE_OF_CALLER}-00f067aa0ba902b7-01"])
async def test_a_deadline_that_a_reader_is_the_first_to_see_ends_the_contract_in_its_own_trace(
    caller: str | None,
) -> None:
    bench = VerificationBench()
    with continue_trace(f"00-{TRACE_OF_AWARD}-00f067aa0ba902b7-01", None, "process contract.awarded"):
        await bench.award("ctr_1")
    bench.clock.advance(timedelta(days=8))
    with continue_trace(caller, None, "request"):
        row = await visible_contract(bench.deps, Principal("acme", Audience.CONSUMER), "ctr_1")
    [verified] = bench.emitted("outcome.verified")
    assert row.state.status is ContractStatus.EXPIRED
    assert (verified.traceparent or "").split("-")[1] == TRACE_OF_AWARD


async def test_nobody_is_shown_a_contracts_trace(bench: VerificationBench) -> None:
    with continue_trace(f"00-{TRACE_OF_AWARD}-00f067aa0ba902b7-01", None, "process contract.awarded"):
        await bench.award("ctr_traced")
    row = await contract_row(bench.deps, "ctr_traced")
    assert TRACE_OF_AWARD in (row.traceparent or "")
    for reader, role in (("acme", Audience.CONSUMER), ("bot", Audience.AGENT), ("olga", Audience.OPERATOR)):
        shown = await shown_contract(bench.deps, Principal(reader, role), row)
        assert TRACE_OF_AWARD not in str(shown)
        assert "traceparent" not in shown


async def test_an_artifact_that_was_not_uploaded_is_refused(bench: VerificationBench) -> None:
    artifact = {"name": "a.csv", "media_type": "text/csv", "sha256": "0" * 64}
    with pytest.raises(InvalidRequest) as refusal:
        await post(bench, GOOD, artifacts=[artifact])
    assert refusal.value.errors[0].path == "/artifacts/0/sha256"


async def test_a_verifier_that_breaks_down_costs_no_attempt_and_is_retried(bench: VerificationBench) -> None:
    bench.judge.failures = 2
    row = await judge(bench, GOOD)
    assert row.status is AttemptStatus.WAITING
    await bench.pass_time(timedelta(minutes=2))
    assert (await outcome(bench)).attempts_used == 1


async def test_past_the_system_retries_an_operator_is_asked_and_release_pays_the_base_alone() -> None:
    bench = VerificationBench(policy=Policy(max_system_retries=2))
    await bench.award()
    bench.judge.failures = 99
    await judge(bench, GOOD)
    await bench.pass_time(timedelta(minutes=5))
    assert await status(bench) is ContractStatus.HELD
    assert bench.emitted("outcome.verified") == []
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert record.verification_result is not None
    assert record.verification_result.success
    assert (str(record.billing_impact.base), str(record.billing_impact.bonus)) == ("0.10", "0")
    assert record.attempts_used == 1


async def test_governance_down_waits_without_limit_and_skips_nothing(bench: VerificationBench) -> None:
    bench.governance.down = lambda: True
    row = await judge(bench, GOOD)
    assert row.status is AttemptStatus.WAITING
    await bench.pass_time(timedelta(hours=1))
    assert await outcome_of(bench.deps, "ctr_1") is None
    bench.governance.down = lambda: False
    await bench.pass_time(timedelta(minutes=2))
    assert (await outcome(bench)).final_status is ContractStatus.PASSED
    assert bench.judge.judged == 1


async def test_what_governance_refuses_to_decide_is_held_after_some_more_tries(
    bench: VerificationBench,
) -> None:
    bench.governance.refusing = lambda: True
    row = await judge(bench, GOOD)
    assert row.status is AttemptStatus.WAITING
    await bench.pass_time(timedelta(minutes=10))
    assert await status(bench) is ContractStatus.HELD
    assert len(bench.governance.asked) == 1 + bench.deps.policy.max_system_retries
    assert [event.data["cause"] for event in bench.emitted("outcome.held")] == ["system_retries_exhausted"]
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert (record.final_status, str(record.billing_impact.total)) == (ContractStatus.PASSED, "0.15")


async def test_what_governance_takes_at_last_is_not_held(bench: VerificationBench) -> None:
    bench.governance.refusing = lambda: len(bench.governance.asked) < 3
    await judge(bench, GOOD)
    await bench.pass_time(timedelta(minutes=10))
    assert (await outcome(bench)).final_status is ContractStatus.PASSED
    assert bench.emitted("outcome.held") == []


async def held(bench: VerificationBench) -> AttemptRow:
    """Self-dealing: held for an operator."""
    await bench.award(consumer=Party(id="bot"))
    return await judge(bench, GOOD)


@pytest.mark.parametrize(
    ("decision", "final", "total"),
    [(Decision.RELEASE, ContractStatus.PASSED, "0.15"), (Decision.REJECT, ContractStatus.FAILED, "0")],
)
async def test_an_operators_decision_ends_a_held_contract_once(
    decision: Decision, final: ContractStatus, total: str
) -> None:
    bench = VerificationBench()
    row = await held(bench)
    assert row.status is AttemptStatus.HELD
    assert bench.emitted("outcome.verified") == []
    for _ in range(3):
        await review(bench, decision)
    record = await outcome(bench)
    assert record.final_status is final
    assert str(record.billing_impact.total) == total
    assert record.verification_result is not None
    assert record.verification_result.governance.decided_by.value == "operator"
    assert len(bench.emitted("outcome.verified")) == 1


async def test_retry_verifies_the_same_candidate_anew_and_counts_it_once() -> None:
    bench = VerificationBench()
    await held(bench)
    for _ in range(2):
        await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    row = await contract_row(bench.deps, "ctr_1")
    assert row.state.verification.attempts_used == 1
    assert row.state.status is ContractStatus.HELD  # the rules say the same again
    assert bench.judge.judged == 2
    assert len(bench.emitted("outcome.held")) == 2


async def test_a_pass_that_was_held_and_retried_is_not_told_and_stands_before_its_retry() -> None:
    bench = VerificationBench()
    first = await held(bench)
    await review(bench, Decision.RETRY)
    found = await ATTEMPTS.find(bench.store, {"contract_id": "ctr_1"}, "created_at")
    assert [each.record.attempt_id == first.attempt_id for each in found] == [True, False]
    told = await attempt_view(bench.deps, found[0].record)
    assert (told.verdict, told.result) == (None, None)


async def test_a_decision_on_a_hold_that_is_no_longer_current_is_ignored(bench: VerificationBench) -> None:
    await judge(bench, GOOD)
    data = OutcomeReviewed(
        hold_id="hold_1", contract_id="ctr_1", attempt_id="att_old", decision=Decision.REJECT, reason="?", by="olga"
    )
    await bench.handlers["outcome.reviewed"](event_of("outcome.reviewed", "ctr_1", data))
    assert (await outcome(bench)).final_status is ContractStatus.PASSED


async def test_governance_rejects_a_wild_claim_and_nothing_is_owed(bench: VerificationBench) -> None:
    await judge(bench, GOOD, claimed_metrics={"word_count": 400})
    record = await outcome(bench)
    assert record.final_status is ContractStatus.FAILED
    assert record.verification_result is not None
    assert record.verification_result.governance.action is Action.REJECT
    assert record.verification_result.governance_flags == ("claimed_metric_mismatch",)
    assert record.billing_impact.total == 0


async def test_finalising_settles_with_the_best_judged_candidate(bench: VerificationBench) -> None:
    with pytest.raises(Conflict):
        await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    await judge(bench, BAD)
    await finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY)
    assert await status(bench) is ContractStatus.FINALISED
    record = await outcome(bench)
    assert (record.final_status, str(record.billing_impact.total)) == (ContractStatus.FINALISED, "0.10")


async def test_cancelling_records_no_outcome(bench: VerificationBench) -> None:
    await cancel_contract(bench.deps, "acme", "ctr_1", NO_KEY)
    assert await status(bench) is ContractStatus.CANCELLED
    assert len(bench.emitted("contract.cancelled")) == 1
    assert await outcome_of(bench.deps, "ctr_1") is None
    with pytest.raises(Conflict):
        await post(bench, GOOD)


async def test_cancelling_after_a_candidate_is_refused(bench: VerificationBench) -> None:
    await judge(bench, BAD)
    with pytest.raises(Conflict) as refusal:
        await cancel_contract(bench.deps, "acme", "ctr_1", NO_KEY)
    assert refusal.value.code == "candidate_received"


async def test_a_deadline_with_nothing_delivered_costs_nothing(bench: VerificationBench) -> None:
    await bench.pass_time(timedelta(days=8))
    record = await outcome(bench)
    assert record.final_status is ContractStatus.EXPIRED
    assert record.verification_result is None
    assert record.billing_impact.total == 0


async def test_a_deadline_with_a_judged_candidate_settles_it(bench: VerificationBench) -> None:
    await judge(bench, BAD)
    await bench.pass_time(timedelta(days=8))
    record = await outcome(bench)
    assert (record.final_status, str(record.billing_impact.total)) == (ContractStatus.EXPIRED, "0.10")


async def test_a_candidate_after_the_deadline_expires_the_contract_even_before_its_timer(
    bench: VerificationBench,
) -> None:
    bench.clock.advance(timedelta(days=8))
    with pytest.raises(Conflict) as refusal:
        await post(bench, GOOD)
    assert refusal.value.code == "deadline_passed"
    assert (await outcome(bench)).final_status is ContractStatus.EXPIRED


async def test_finalise_and_cancel_racing_with_a_candidate_leave_one_consistent_end(
    bench: VerificationBench,
) -> None:
    racing: list[Awaitable[Any]] = [
        post(bench, GOOD),
        cancel_contract(bench.deps, "acme", "ctr_1", NO_KEY),
        finalise_contract(bench.deps, "bot", "ctr_1", NO_KEY),
    ]
    await asyncio.gather(*racing, return_exceptions=True)
    await bench.deliver("output.submitted")
    await bench.pass_time(timedelta(minutes=1))
    ends = len(bench.emitted("outcome.verified")) + len(bench.emitted("contract.cancelled"))
    assert ends == 1
