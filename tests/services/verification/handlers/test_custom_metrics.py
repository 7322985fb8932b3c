from datetime import timedelta

import pytest

from aex_models.audiences import Audience, Disclosure, project, project_event_data
from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.events import OutcomeVerified
from aex_models.governance import Decision, HoldCause
from aex_models.results import Verdict
from aex_models.work import FeedbackLevel
from aex_outcomes.sandbox.port import CodeFault, FaultKind, SandboxUnavailable
from aex_verification.handlers.read import find_outcome, load_attempt, make_attempt_view
from aex_verification.rules.records import Policy
from tests.parts.verification import VerificationBench
from tests.services.verification.flow import GOOD, grade, opened, outcome, review, state, status

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
    policy, criteria = Policy(max_system_retries=2), {"criteria": CRITERIA}
    bench = await opened(None, policy, success_criteria=criteria, evaluation=EVALUATION)
    meeting(bench, mine=FAULT)
    return bench


def meeting(bench: VerificationBench, **faults: Exception) -> None:
    bench.grader.sandbox.meets = lambda code: faults.get(code.rpartition(" ")[2])


async def test_failing_code_holds_the_outcome_at_once_uncounted(bench: VerificationBench) -> None:
    row = await grade(bench, GOOD)
    assert (row.status, row.verdict, row.counted) == (AttemptStatus.HELD, Verdict.INDETERMINATE, False)
    assert await status(bench) is ContractStatus.HELD
    assert [event.data["cause"] for event in bench.emitted("outcome.held")] == [HoldCause.CUSTOM_METRIC_FAILED]
    await bench.pass_time(timedelta(hours=1))
    assert bench.grader.graded == 1, "nothing would be different another time"
    assert (await state(bench)).verification.attempts_used == 0
    assert await find_outcome(bench.deps, "ctr_1") is None


@pytest.mark.parametrize("decision", [Decision.RELEASE, Decision.REJECT])
async def test_indeterminate_hold_names_its_candidate_in_the_outcome(
    bench: VerificationBench, decision: Decision
) -> None:
    bench.clock.advance(timedelta(minutes=7))
    row = await grade(bench, GOOD)
    assert row.result is not None
    assert (row.result.candidate_hash, row.result.verified_at) == (row.candidate_hash, bench.clock.now())
    await review(bench, decision)
    recorded = (await outcome(bench)).verification_result
    assert recorded is not None
    assert recorded.candidate_hash == row.candidate_hash


async def test_other_platform_failure_is_retried_before_a_hold(bench: VerificationBench) -> None:
    meeting(bench, mine=FAULT, other=AWAY)
    row = await grade(bench, GOOD)
    assert row.status is AttemptStatus.WAITING
    meeting(bench, mine=FAULT)
    await bench.pass_time(timedelta(minutes=1))
    assert [event.data["cause"] for event in bench.emitted("outcome.held")] == [HoldCause.CUSTOM_METRIC_FAILED]
    assert bench.grader.graded == 2


async def test_missing_sandbox_delays_the_attempt_uncounted(bench: VerificationBench) -> None:
    meeting(bench, mine=AWAY, other=AWAY)
    await grade(bench, GOOD)
    meeting(bench)
    await bench.pass_time(timedelta(minutes=1))
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 1)
    assert bench.emitted("outcome.held") == []


async def test_retried_hold_is_graded_and_counted_once(bench: VerificationBench) -> None:
    first = await grade(bench, GOOD)
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert len({event.data["attempt_id"] for event in bench.emitted("outcome.held")}) == 2
    meeting(bench)
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 1)
    assert str(record.billing_impact.total) == "0.25"
    assert bench.grader.graded == 3
    assert (await load_attempt(bench.deps, "ctr_1", first.attempt_id)).status is AttemptStatus.JUDGED


async def test_code_messages_never_reach_the_agent_or_events(bench: VerificationBench) -> None:
    everything = Disclosure(level=FeedbackLevel.FULL)
    row = await grade(bench, GOOD)
    held = project(await make_attempt_view(bench.deps, row, with_candidate=True), Audience.AGENT, everything)
    assert held["result"] is None
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    rendered = project(record, Audience.AGENT, everything)
    event = project_event_data(OutcomeVerified(outcome=record))
    for reported in (held, rendered, event, [each.data for each in bench.events]):
        assert "canary" not in str(reported)
    assert "canary" in str(project(record, Audience.CONSUMER, Disclosure(output=True)))
