"""Candidates with claims: examined once, judged by the gate, told to governance, and nobody's fault where we fail."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aex_models.audiences import Audience
from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.events import OutcomeVerified, read_data
from aex_models.governance import Decision, ValidationRequest
from aex_models.numbers import JsonFloat
from aex_models.results import Verdict
from aex_models.science import ReviewFailure
from aex_outcomes.science.review.port import PeerReviewer
from aex_runtime.identity.principal import Principal
from aex_verification.handlers.read import shown_outcome
from aex_verification.rules.policy import Policy
from aex_verification.turnstile import Turnstile
from tests.parts.reviewing import ScriptedReviewer, accepting
from tests.parts.verification import VerificationBench
from tests.services.verification.examined import (
    DMS,
    MEAN,
    REVIEWED,
    SECRET,
    TABLE,
    claim,
    concluded,
    science,
    table,
)
from tests.services.verification.flow import opened, outcome, review, state, status

HONEST, ABSURD = {"mean_fitness": -0.4}, {"mean_fitness": 11.17}


async def bench_of(**changes: Any) -> VerificationBench:
    """A bench with a contract over a work with science."""
    return await opened(verifier=None, domain=DMS, science=science(), **changes)


async def test_an_honest_claim_passes(verified: VerificationBench) -> None:
    row = await claim(verified, HONEST, table())
    assert row.verdict is Verdict.PASSED
    assert concluded(row).passed
    assert await status(verified) is ContractStatus.PASSED


async def test_an_absurd_claim_is_rejected_though_every_criterion_is_met(verified: VerificationBench) -> None:
    row = await claim(verified, ABSURD, table())
    assert row.result is not None
    assert all(each.met for each in row.result.criterion_results)
    assert (row.verdict, row.counted, row.result.success) == (Verdict.REJECTED, True, False)
    [mismatch] = concluded(row).value_mismatches
    assert mismatch.severity.value == "critical"
    assert [each.name for each in concluded(row).domain_violations] == ["mean_fitness"]


async def test_governance_is_told_mismatches_and_violations_and_holds_the_last_attempt() -> None:
    bench = await bench_of(verification={"max_attempts": 1})
    row = await claim(bench, ABSURD, table())
    told = bench.governance.asked[-1].science
    assert told is not None
    [mismatch] = told.mismatches
    assert (mismatch["claimed"], mismatch["recomputed"], mismatch["severity"]) == (
        11.17,
        pytest.approx(-0.4),
        "critical",
    )
    assert [each["name"] for each in told.violations if isinstance(each, dict)] == ["mean_fitness"]
    assert await status(bench) is ContractStatus.HELD
    [held] = bench.emitted("outcome.held")
    assert {each["rule"] for each in held.data["flags"]} == {"claimed_value_mismatch", "domain_violation"}
    assert row.counted


async def test_a_claim_of_null_is_stored_examined_and_told_to_governance_as_a_violation() -> None:
    bench = await bench_of(verification={"max_attempts": 1})
    row = await claim(bench, {"mean_fitness": None}, table())
    assert row.verdict is Verdict.REJECTED
    assert bench.examiner.asked[-1].claims == {"mean_fitness": "null"}
    assert {each.code for each in concluded(row).reasons} == {"value_mismatch", "domain_violation"}
    told = bench.governance.asked[-1]
    assert ValidationRequest.model_validate_json(told.model_dump_json()) == told
    assert told.science is not None
    assert [each["name"] for each in told.science.violations if isinstance(each, dict)] == ["mean_fitness"]


async def test_works_without_science_tell_governance_of_none() -> None:
    bench = await opened(verifier=None)
    await claim(bench, HONEST, table())
    assert bench.governance.asked[-1].science is None
    assert bench.examiner.asked == []


async def test_the_text_of_a_claim_outlives_the_store(verified: VerificationBench) -> None:
    row = await claim(verified, {"mean_fitness": JsonFloat("-0.400"), "other": JsonFloat("2.0"), "third": 3}, table())
    assert verified.examiner.asked[-1].claims == {"mean_fitness": "-0.400", "other": "2.0", "third": "3"}
    assert row.claim_texts == {"mean_fitness": "-0.400", "other": "2.0"}


async def test_an_examination_that_breaks_down_is_tried_again_and_costs_no_attempt(verified: VerificationBench) -> None:
    broken = iter([True, True, False])
    verified.examiner.breaks = lambda: next(broken)
    row = await claim(verified, HONEST, table())
    assert (row.status, row.counted) == (AttemptStatus.WAITING, False)
    await verified.pass_time(timedelta(minutes=5))
    assert await status(verified) is ContractStatus.PASSED
    assert (await state(verified)).verification.attempts_used == 1


async def test_data_that_are_lost_end_before_an_operator_and_cost_no_attempt() -> None:
    bench = VerificationBench(policy=Policy(max_system_retries=1))
    await bench.award(domain=DMS, science=science(data=[{"name": "own.csv", "sha256": "0" * 64}]))
    row = await claim(bench, HONEST, table())
    assert (row.status, row.counted, row.last_error) == (AttemptStatus.WAITING, False, "ExaminationLost (FileLost)")
    await bench.pass_time(timedelta(minutes=10))
    assert await status(bench) is ContractStatus.HELD
    assert bench.emitted("outcome.held")[-1].data["cause"] == "system_retries_exhausted"


async def test_own_data_that_cannot_be_read_leave_no_verdict() -> None:
    bench = VerificationBench(policy=Policy(max_system_retries=1))
    stored = await bench.deps.blobs.put("data", b"PK\x03\x04 no table at all")
    demanded = science(data=[{"name": "scores.csv", "sha256": stored.digest}])
    await bench.award(domain=DMS, science=demanded)
    row = await claim(bench, HONEST, table())
    assert (row.status, row.counted) == (AttemptStatus.WAITING, False)
    await bench.pass_time(timedelta(minutes=10))
    assert await status(bench) is ContractStatus.HELD


async def test_the_consumers_own_data_beat_those_of_the_agent() -> None:
    bench = VerificationBench()
    stored = await bench.deps.blobs.put("data", TABLE.encode())
    await bench.award(domain=DMS, science=science(data=[{"name": "own.csv", "sha256": stored.digest}]))
    row = await claim(bench, {"mean_fitness": 1.5}, table("mut_score\n1.5\n"))
    assert row.verdict is Verdict.REJECTED
    assert [each.secret for each in concluded(row).value_mismatches] == [True]


async def test_an_unreadable_review_is_put_before_an_operator_at_once() -> None:
    bench = await reviewed_by(ScriptedReviewer(ReviewFailure.UNPARSABLE))
    row = await claim(bench, HONEST, table())
    assert (row.status, row.verdict, row.counted) == (AttemptStatus.HELD, Verdict.INDETERMINATE, False)
    assert [each.data["cause"] for each in bench.emitted("outcome.held")] == ["review_unparsable"]
    assert (await state(bench)).verification.attempts_used == 0
    await review(bench, Decision.RELEASE)
    assert await status(bench) is ContractStatus.PASSED


async def test_a_held_review_that_is_retried_is_asked_for_anew() -> None:
    bench = await reviewed_by(ScriptedReviewer(ReviewFailure.UNPARSABLE))
    await claim(bench, HONEST, table())
    bench.rewire(replace(bench.deps, reviewer=ScriptedReviewer()))
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.PASSED


async def test_a_reviewer_that_is_away_is_waited_for_and_then_an_operator_decides() -> None:
    bench = await reviewed_by(ScriptedReviewer(ReviewFailure.UNREACHABLE))
    row = await claim(bench, HONEST, table())
    assert (row.status, row.counted) == (AttemptStatus.WAITING, False)
    await bench.pass_time(timedelta(hours=1))
    assert [each.data["cause"] for each in bench.emitted("outcome.held")] == ["system_retries_exhausted"]
    await review(bench, Decision.REJECT)
    assert await status(bench) is ContractStatus.FAILED


async def test_a_reviewer_that_accepts_everything_makes_no_critical_mismatch_pass() -> None:
    bench = await reviewed_by(ScriptedReviewer())
    row = await claim(bench, ABSURD, table())
    assert row.verdict is Verdict.REJECTED
    capped = concluded(row).review
    assert capped is not None
    assert capped.recommendation.value == "reject"


async def test_a_reviewer_is_shown_the_candidate_and_asked_by_nobody_who_wants_no_review(
    verified: VerificationBench,
) -> None:
    reviewer = ScriptedReviewer()
    verified.rewire(replace(verified.deps, reviewer=reviewer))
    await claim(verified, HONEST, table())
    assert reviewer.briefs == []
    bench = await reviewed_by(reviewer)
    await claim(bench, HONEST, table(), reasoning="I took the mean")
    [shown] = reviewer.briefs
    assert (dict(shown.claims), shown.reasoning) == ({"mean_fitness": "-0.4"}, "I took the mean")
    assert (shown.science.expected_outcome, shown.output_text) == (SECRET, '{"text": "a b c"}')
    assert [each.name for each in shown.files] == ["scores.csv"]


async def test_others_can_read_a_reviewed_outcome_and_read_nothing_that_was_said() -> None:
    bench = await reviewed_by(ScriptedReviewer(accepting(reasoning="excellent")))
    await claim(bench, HONEST, table())
    [event] = bench.emitted("outcome.verified")
    result = read_data(event, OutcomeVerified).outcome.verification_result
    assert result is not None
    assert result.science is not None
    assert result.science.review is not None
    assert result.science.review.recommendation.value == "accept"
    assert "excellent" not in str(event.data)
    assert SECRET not in str(bench.events)


async def test_a_consumer_that_does_not_pay_reads_why_it_failed_and_nothing_that_was_claimed() -> None:
    bench = await bench_of(verification={"max_attempts": 1}, terms={"cpc_rate": "0.10", "base_policy": "on_success"})
    await claim(bench, ABSURD, table())
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert record.billing_impact.total == 0
    seen = shown_outcome(Principal(id="acme", role=Audience.CONSUMER), record)["verification_result"]["science"]
    assert {each["code"] for each in seen["reasons"]} == {"value_mismatch", "domain_violation"}
    assert "11.17" not in str(seen)
    assert "11.17" in str(shown_outcome(Principal(id="olga", role=Audience.OPERATOR), record))


async def test_examinations_take_places_so_that_other_contracts_go_on(verified: VerificationBench) -> None:
    verified.rewire(replace(verified.deps, slow_places=Turnstile(1, 1)))
    with verified.deps.slow_places.passed("somebody"):
        row = await claim(verified, HONEST, table())
        assert row.status is AttemptStatus.QUEUED
    await verified.pass_time(timedelta(minutes=1))
    assert await status(verified) is ContractStatus.PASSED


@pytest.fixture
async def verified() -> VerificationBench:
    """A contract over a work with science, and nobody to review."""
    return await bench_of()


async def reviewed_by(reviewer: PeerReviewer) -> VerificationBench:
    """The same with a work that wants a review, and a reviewer."""
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, reviewer=reviewer))
    await bench.award(domain=DMS, science=science(checks=REVIEWED, statistics=[MEAN]))
    return bench
