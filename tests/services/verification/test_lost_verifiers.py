"""Named verifiers that crash, or are gone: the agent pays nothing for it, and an operator has the last word."""

from datetime import timedelta

import pytest

from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.contract_events import ContractEventType
from aex_models.governance import Decision, HoldCause, Party
from aex_models.money import ZERO
from aex_models.results import Verdict
from aex_outcomes.sandbox.port import CodeFault, FaultKind
from aex_verification.handlers.read import attempt_row, attempt_view
from aex_verification.repository import ATTEMPTS
from aex_verification.rules.policy import Policy
from tests.parts.verification import VerificationBench
from tests.services.verification.flow import (
    CRASH,
    DULL,
    GOOD,
    contract_events,
    judge,
    opened,
    outcome,
    review,
    state,
    status,
)

MINE = {"metric": "custom.mine", "metric_type": "count", "comparison": "gte", "threshold": 2, "bonus": "0.05"}


@pytest.fixture
async def bench() -> VerificationBench:
    return await opened()


async def test_a_verifier_that_crashes_costs_no_attempt_and_is_tried_again_with_backoff(
    bench: VerificationBench,
) -> None:
    bench.verifiers.failures = 3
    row = await judge(bench, GOOD)
    assert (row.status, row.system_retries, row.verdict) == (AttemptStatus.WAITING, 1, None)
    waits = []
    for retry in (2, 3):
        [due] = [timer.due_at for timer in await bench.timers() if timer.kind == "verify"]
        waits.append(due - bench.clock.now())
        await bench.pass_time(due - bench.clock.now())
        assert (await attempt_row(bench.deps, "ctr_1", row.attempt_id)).system_retries == retry
    assert waits[0] < waits[1]
    await bench.pass_time(timedelta(minutes=2))
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 1)
    assert bench.judge.judged == 1, "no criteria are evaluated for a verifier that is lost"


@pytest.mark.parametrize("text", [CRASH, GOOD])
async def test_a_verifier_that_keeps_crashing_or_is_gone_puts_the_candidate_before_an_operator(text: str) -> None:
    bench = await opened("summary" if text == CRASH else "withdrawn", Policy(max_system_retries=2))
    row = await judge(bench, text)
    await bench.pass_time(timedelta(hours=1))
    assert await status(bench) is ContractStatus.HELD
    assert [event.data["cause"] for event in bench.emitted("outcome.held")] == [HoldCause.SYSTEM_RETRIES_EXHAUSTED]
    assert len(bench.verifiers.asked) == 3
    row = await attempt_row(bench.deps, "ctr_1", row.attempt_id)
    assert (row.status, row.verdict, row.counted) == (AttemptStatus.HELD, Verdict.INDETERMINATE, False)
    kind = "ZeroDivisionError" if text == CRASH else "UnknownVerifier"
    assert row.last_error == f"VerifierLost ({kind})"
    assert [event.type for event in await contract_events(bench)] == [ContractEventType.HELD]


async def held_by_crashes() -> VerificationBench:
    bench = await opened(policy=Policy(max_system_retries=0))
    bench.verifiers.failures = 1
    await judge(bench, GOOD)
    assert await status(bench) is ContractStatus.HELD
    return bench


async def test_released_in_its_verifiers_stead_the_output_itself_is_the_final_result_and_the_base_alone_is_owed() -> (
    None
):
    bench = await held_by_crashes()
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert (record.final_status, record.final_result) == (ContractStatus.PASSED, {"text": GOOD})
    assert (str(record.billing_impact.base), record.billing_impact.bonus) == ("0.10", ZERO)
    assert record.attempts_used == 1


async def test_retried_by_an_operator_the_verifier_is_asked_again_and_the_candidate_counted_once() -> None:
    bench = await held_by_crashes()
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 1)
    assert record.final_result["title"] == "One Two Three"
    assert [request.agent.attempt for request in bench.verifiers.asked] == [1, 1]


async def test_a_pass_that_was_held_retried_and_then_lost_is_counted_once() -> None:
    bench = await opened(policy=Policy(max_system_retries=0), consumer=Party(id="bot"))  # self-dealing: held
    await judge(bench, GOOD)
    bench.verifiers.failures = 1
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RELEASE)
    assert (await outcome(bench)).attempts_used == 1
    found = await ATTEMPTS.find(bench.store, {"contract_id": "ctr_1"}, "created_at")
    assert [each.record.counted for each in found] == [True, False]
    assert [request.agent.attempt for request in bench.verifiers.asked] == [1, 1]


async def test_rejected_by_an_operator_the_contract_fails_and_costs_nothing() -> None:
    bench = await held_by_crashes()
    await review(bench, Decision.REJECT)
    record = await outcome(bench)
    assert (record.final_status, record.final_result) == (ContractStatus.FAILED, None)
    assert record.billing_impact.total == 0


async def test_what_a_crashing_verifier_says_is_told_to_nobody(
    bench: VerificationBench, capsys: pytest.CaptureFixture[str]
) -> None:
    row = await judge(bench, CRASH)
    assert "canary" not in row.model_dump_json()
    for audience in (Audience.AGENT, Audience.CONSUMER, Audience.OPERATOR):
        view = project(await attempt_view(bench.deps, row, early=True), audience, Disclosure(output=True))
        assert "canary" not in str(view)
    assert "canary" not in "".join(capsys.readouterr())
    assert "canary" not in str([event.data for event in bench.events])


async def opened_with_code() -> VerificationBench:
    """Custom code that fails on every candidate, beside a verifier."""
    bench = await opened(
        success_criteria={"criteria": [MINE]},
        evaluation={"custom_metrics": [{"name": "mine", "code": "def evaluate(i, o, m): mine"}]},
    )
    bench.judge.sandbox.meets = lambda _: CodeFault(FaultKind.EXCEPTION, "KeyError")
    return bench


async def test_what_the_platform_could_not_tell_stays_open_though_the_verifier_accepts() -> None:
    bench = await opened_with_code()
    row = await judge(bench, GOOD)
    assert (row.status, row.verdict) == (AttemptStatus.HELD, Verdict.INDETERMINATE)
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert record.final_result == {"title": "One Two Three", "attempt_id": row.attempt_id}
    assert (str(record.billing_impact.base), record.billing_impact.bonus) == ("0.10", ZERO)


async def test_what_the_verifier_rejects_is_rejected_though_the_platform_cannot_judge_the_criteria() -> None:
    bench = await opened_with_code()
    row = await judge(bench, DULL)
    assert (row.status, row.verdict, row.counted) == (AttemptStatus.JUDGED, Verdict.REJECTED, True)
    assert row.result is not None
    assert (row.result.success, row.result.bonus, row.result.penalty) == (False, ZERO, ZERO)
    assert await status(bench) is ContractStatus.AWAITING_REVISION
    assert bench.emitted("outcome.held") == []
    assert [event.data["code"] for event in bench.emitted("output.rejected")] == ["too_dull"]


async def test_a_fatal_error_ends_the_contract_though_the_platform_cannot_judge_the_criteria() -> None:
    bench = await opened_with_code()
    await judge(bench, "this is hopeless")
    assert await status(bench) is ContractStatus.FAILED
    assert (await outcome(bench)).billing_impact.penalty == ZERO


async def test_while_the_engine_is_tried_again_a_rejection_stands_and_the_verifier_is_not_asked_twice() -> None:
    bench = await opened(policy=Policy(max_system_retries=2))
    bench.judge.failures = 3
    await judge(bench, DULL)
    assert await status(bench) is ContractStatus.VERIFYING
    bench.verifiers.by_name["summary"] = bench.verifiers.by_name["nothing"]
    await bench.pass_time(timedelta(minutes=5))
    assert len(bench.verifiers.asked) == 1
    found = await state(bench)
    assert (found.status, found.verification.attempts_used) == (ContractStatus.AWAITING_REVISION, 1)
    assert bench.emitted("outcome.held") == []
