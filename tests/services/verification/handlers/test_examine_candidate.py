from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aex_models.audiences import Audience
from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.governance import Decision, ValidationRequest
from aex_models.numbers import JsonFloat
from aex_models.results import Verdict
from aex_models.science import ReviewFailure
from aex_outcomes.science.peer_review_port import PeerReviewer
from aex_runtime.identity.principals import Principal
from aex_verification.fair_slots import FairSlots
from aex_verification.handlers.read import render_outcome
from aex_verification.rules.records import Policy
from aex_verification.slow_jobs import SlowJobs
from tests.parts.reviewing import ScriptedReviewer, make_accepting_review
from tests.parts.verification import VerificationBench
from tests.services.verification.examined import DMS, MEAN, REVIEWED, SECRET, TABLE, claim, concluded, science, table
from tests.services.verification.flow import opened, outcome, review, state, status

HONEST, ABSURD = {"mean_fitness": -0.4}, {"mean_fitness": 11.17}


async def bench_of(**changes: Any) -> VerificationBench:
    return await opened(verifier=None, domain=DMS, science=science(), **changes)


async def test_absurd_claim_is_rejected_with_all_criteria_met(verified: VerificationBench) -> None:
    row = await claim(verified, ABSURD, table())
    assert row.result is not None
    assert all(each.met for each in row.result.criterion_results)
    assert (row.verdict, row.counted, row.result.success) == (Verdict.REJECTED, True, False)
    assert [each.severity.value for each in concluded(row).value_mismatches] == ["critical"]
    assert [each.name for each in concluded(row).domain_violations] == ["mean_fitness"]


@pytest.mark.parametrize("value", [11.17, None])
async def test_mismatches_and_violations_are_sent_to_governance(value: float | None) -> None:
    bench = await bench_of(verification={"max_attempts": 1})
    row = await claim(bench, {"mean_fitness": value}, table())
    request = bench.governance.requests[-1]
    assert ValidationRequest.model_validate_json(request.model_dump_json()) == request
    assert request.science is not None
    assert [each["name"] for each in request.science.violations if isinstance(each, dict)] == ["mean_fitness"]
    if value is None:
        assert bench.examiner.requests[-1].claims == {"mean_fitness": "null"}
        assert {each.code for each in concluded(row).reasons} == {"value_mismatch", "domain_violation"}
        return
    [mismatch] = request.science.mismatches
    assert (mismatch["claimed"], mismatch["severity"]) == (11.17, "critical")
    assert mismatch["recomputed"] == pytest.approx(-0.4)
    assert await status(bench) is ContractStatus.HELD
    [held] = bench.emitted("outcome.held")
    assert {each["rule"] for each in held.data["flags"]} == {"claimed_value_mismatch", "domain_violation"}
    assert row.counted


async def test_request_without_science_has_no_science_findings() -> None:
    bench = await opened(verifier=None)
    await claim(bench, HONEST, table())
    assert (bench.governance.requests[-1].science, bench.examiner.requests) == (None, [])


async def test_text_of_a_claim_is_kept(verified: VerificationBench) -> None:
    row = await claim(verified, {"mean_fitness": JsonFloat("-0.400"), "other": JsonFloat("2.0"), "third": 3}, table())
    assert verified.examiner.requests[-1].claims == {"mean_fitness": "-0.400", "other": "2.0", "third": "3"}
    assert row.claim_texts == {"mean_fitness": "-0.400", "other": "2.0"}


async def test_failed_examination_is_retried_uncounted(verified: VerificationBench) -> None:
    broken = iter([True, True, False])
    verified.examiner.breaks = lambda: next(broken)
    row = await claim(verified, HONEST, table())
    assert (row.status, row.counted) == (AttemptStatus.WAITING, False)
    await verified.pass_time(timedelta(minutes=5))
    assert await status(verified) is ContractStatus.PASSED
    assert (await state(verified)).verification.attempts_used == 1


@pytest.mark.parametrize("content", [None, b"PK\x03\x04 no table at all"])
async def test_lost_or_unreadable_consumer_data_are_held_uncounted(content: bytes | None) -> None:
    bench = VerificationBench(policy=Policy(max_system_retries=1))
    digest = "0" * 64 if content is None else (await bench.deps.blobs.put("data", content)).digest
    await bench.award(domain=DMS, science=science(data=[{"name": "scores.csv", "sha256": digest}]))
    row = await claim(bench, HONEST, table())
    error = "ExaminationLost (FileLost)" if content is None else "indeterminate"
    assert (row.status, row.counted, row.last_error) == (AttemptStatus.WAITING, False, error)
    await bench.pass_time(timedelta(minutes=10))
    assert await status(bench) is ContractStatus.HELD
    assert bench.emitted("outcome.held")[-1].data["cause"] == "system_retries_exhausted"


async def test_consumer_data_win_over_artifacts() -> None:
    bench = VerificationBench()
    stored = await bench.deps.blobs.put("data", TABLE.encode())
    await bench.award(domain=DMS, science=science(data=[{"name": "own.csv", "sha256": stored.digest}]))
    row = await claim(bench, {"mean_fitness": 1.5}, table("mut_score\n1.5\n"))
    assert row.verdict is Verdict.REJECTED
    assert [each.secret for each in concluded(row).value_mismatches] == [True]


async def test_unreadable_review_is_held_and_retried() -> None:
    bench = await reviewed_by(ScriptedReviewer(ReviewFailure.UNPARSABLE))
    row = await claim(bench, HONEST, table())
    assert (row.status, row.verdict, row.counted) == (AttemptStatus.HELD, Verdict.INDETERMINATE, False)
    assert [each.data["cause"] for each in bench.emitted("outcome.held")] == ["review_unparsable"]
    assert (await state(bench)).verification.attempts_used == 0
    bench.rewire(replace(bench.deps, reviewer=ScriptedReviewer()))
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.PASSED


async def test_unreachable_reviewer_is_retried_then_held() -> None:
    bench = await reviewed_by(ScriptedReviewer(ReviewFailure.UNREACHABLE))
    row = await claim(bench, HONEST, table())
    assert (row.status, row.counted) == (AttemptStatus.WAITING, False)
    await bench.pass_time(timedelta(hours=1))
    assert [each.data["cause"] for each in bench.emitted("outcome.held")] == ["system_retries_exhausted"]
    await review(bench, Decision.REJECT)
    assert await status(bench) is ContractStatus.FAILED


async def test_reviewer_is_called_where_a_review_is_due(verified: VerificationBench) -> None:
    reviewer = ScriptedReviewer()
    verified.rewire(replace(verified.deps, reviewer=reviewer))
    await claim(verified, HONEST, table())
    assert reviewer.briefs == []
    bench = await reviewed_by(reviewer)
    await claim(bench, HONEST, table(), reasoning="I took the mean")
    [brief] = reviewer.briefs
    assert (dict(brief.claims), brief.reasoning) == ({"mean_fitness": "-0.4"}, "I took the mean")
    assert (brief.science.expected_outcome, brief.output_text) == (SECRET, '{"text": "a b c"}')
    assert [(each.name, each.columns) for each in brief.files] == [("scores.csv", ("mutant", "mut_score"))]


async def test_other_readers_see_no_text_of_a_review() -> None:
    bench = await reviewed_by(ScriptedReviewer(make_accepting_review(reasoning="excellent")))
    await claim(bench, HONEST, table())
    [event] = bench.emitted("outcome.verified")
    assert event.data["outcome"]["verification_result"]["science"]["review"]["recommendation"] == "accept"
    assert "excellent" not in str(event.data)
    assert SECRET not in str(bench.events)


async def test_unpaid_science_result_shows_reasons_without_claims() -> None:
    bench = await bench_of(verification={"max_attempts": 1}, terms={"cpc_rate": "0.10", "base_policy": "on_success"})
    await claim(bench, ABSURD, table())
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert record.billing_impact.total == 0
    seen = render_outcome(Principal(id="acme", role=Audience.CONSUMER), record)["verification_result"]["science"]
    assert {each["code"] for each in seen["reasons"]} == {"value_mismatch", "domain_violation"}
    assert "11.17" not in str(seen)
    assert "11.17" in str(render_outcome(Principal(id="olga", role=Audience.OPERATOR), record))


async def test_examinations_take_slow_slots(verified: VerificationBench) -> None:
    verified.rewire(replace(verified.deps, slow_jobs=SlowJobs(FairSlots(1, 0))))
    with ExitStack() as slot:
        assert verified.deps.slow_jobs.try_acquire("globex", slot)
        row = await claim(verified, HONEST, table())
        assert row.status is AttemptStatus.QUEUED
    await verified.pass_time(timedelta(minutes=1))
    assert await status(verified) is ContractStatus.PASSED


@pytest.fixture
async def verified() -> VerificationBench:
    return await bench_of()


async def reviewed_by(reviewer: PeerReviewer) -> VerificationBench:
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, reviewer=reviewer))
    await bench.award(domain=DMS, science=science(checks=REVIEWED, statistics=[MEAN]))
    return bench
