from datetime import timedelta

import pytest

from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.contract_events import ContractEventType
from aex_models.governance import Decision, HoldCause, Party
from aex_models.money import ZERO
from aex_models.results import Verdict
from aex_outcomes.sandbox.port import CodeFault, FaultKind
from aex_verification.handlers.read import load_attempt, make_attempt_view
from aex_verification.repository import ATTEMPTS
from aex_verification.rules.records import Policy
from tests.parts.verification import VerificationBench
from tests.services.verification.flow import (
    CRASH,
    DULL,
    GOOD,
    contract_events,
    grade,
    opened,
    outcome,
    review,
    state,
    status,
)

OWN = {"metric": "custom.mine", "metric_type": "count", "comparison": "gte", "threshold": 2, "bonus": "0.05"}


async def test_crashed_verifier_is_retried_uncounted_with_backoff(bench: VerificationBench) -> None:
    bench.verifiers.failures = 3
    row = await grade(bench, GOOD)
    assert (row.status, row.system_retries, row.verdict) == (AttemptStatus.WAITING, 1, None)
    waits = []
    for retry in (2, 3):
        [due] = [timer.due_at for timer in await bench.timers() if timer.kind == "verify"]
        waits.append(due - bench.clock.now())
        await bench.pass_time(due - bench.clock.now())
        assert (await load_attempt(bench.deps, "ctr_1", row.attempt_id)).system_retries == retry
    assert waits[0] < waits[1]
    await bench.pass_time(timedelta(minutes=2))
    record = await outcome(bench)
    assert (record.final_status, record.attempts_used) == (ContractStatus.PASSED, 1)
    assert bench.grader.graded == 1, "no criteria are evaluated for a verifier that is lost"


@pytest.mark.parametrize("text", [CRASH, GOOD])
async def test_verifier_that_keeps_crashing_or_is_missing_is_held(text: str) -> None:
    bench = await opened("summary" if text == CRASH else "withdrawn", Policy(max_system_retries=2))
    row = await grade(bench, text)
    await bench.pass_time(timedelta(hours=1))
    assert await status(bench) is ContractStatus.HELD
    assert [event.data["cause"] for event in bench.emitted("outcome.held")] == [HoldCause.SYSTEM_RETRIES_EXHAUSTED]
    assert len(bench.verifiers.requests) == 3
    row = await load_attempt(bench.deps, "ctr_1", row.attempt_id)
    assert (row.status, row.verdict, row.counted) == (AttemptStatus.HELD, Verdict.INDETERMINATE, False)
    kind = "ZeroDivisionError" if text == CRASH else "UnknownVerifier"
    assert row.last_error == f"VerifierLost ({kind})"
    assert [event.type for event in await contract_events(bench)] == [ContractEventType.HELD]


@pytest.mark.parametrize(
    ("decision", "final", "result", "base"),
    [
        (Decision.RELEASE, ContractStatus.PASSED, {"text": GOOD}, "0.10"),
        (Decision.REJECT, ContractStatus.FAILED, None, "0"),
    ],
)
async def test_decision_without_a_ruling_ends_the_contract(
    decision: Decision, final: ContractStatus, result: object, base: str
) -> None:
    bench = await opened(policy=Policy(max_system_retries=0))
    bench.verifiers.failures = 2
    await grade(bench, GOOD)
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    await review(bench, decision)
    record = await outcome(bench)
    assert (record.final_status, record.final_result, record.billing_impact.bonus) == (final, result, ZERO)
    assert str(record.billing_impact.total) == base
    assert record.attempts_used == (decision is Decision.RELEASE)
    assert [request.agent.attempt for request in bench.verifiers.requests] == [1, 1]


async def test_held_pass_with_a_failed_retry_counts_once() -> None:
    bench = await opened(policy=Policy(max_system_retries=0), consumer=Party(id="bot"))  # self-dealing: held
    await grade(bench, GOOD)
    bench.verifiers.failures = 1
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RELEASE)
    assert (await outcome(bench)).attempts_used == 1
    found = await ATTEMPTS.find(bench.store, {"contract_id": "ctr_1"}, "created_at")
    assert [each.record.counted for each in found] == [True, False]
    assert [request.agent.attempt for request in bench.verifiers.requests] == [1, 1]


async def test_text_of_a_crashed_verifier_reaches_no_reader(
    bench: VerificationBench, capsys: pytest.CaptureFixture[str]
) -> None:
    row = await grade(bench, CRASH)
    assert "canary" not in row.model_dump_json()
    for audience in (Audience.AGENT, Audience.CONSUMER, Audience.OPERATOR):
        view = project(
            await make_attempt_view(bench.deps, row, with_unreleased_result=True), audience, Disclosure(output=True)
        )
        assert "canary" not in str(view)
    assert "canary" not in "".join(capsys.readouterr())
    assert "canary" not in str([event.data for event in bench.events])


async def opened_with_code() -> VerificationBench:
    bench = await opened(
        success_criteria={"criteria": [OWN]},
        evaluation={"custom_metrics": [{"name": "mine", "code": "def evaluate(i, o, m): mine"}]},
    )
    bench.grader.sandbox.meets = lambda _: CodeFault(FaultKind.EXCEPTION, "KeyError")
    return bench


async def test_platform_failure_stays_open_although_the_verifier_accepts() -> None:
    bench = await opened_with_code()
    row = await grade(bench, GOOD)
    assert (row.status, row.verdict) == (AttemptStatus.HELD, Verdict.INDETERMINATE)
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert record.final_result == {"title": "One Two Three", "attempt_id": row.attempt_id}
    assert (str(record.billing_impact.base), record.billing_impact.bonus) == ("0.10", ZERO)


async def test_verifiers_rejection_stands_without_graded_criteria() -> None:
    bench = await opened_with_code()
    row = await grade(bench, DULL)
    assert (row.status, row.verdict, row.counted) == (AttemptStatus.JUDGED, Verdict.REJECTED, True)
    assert row.result is not None
    assert (row.result.success, row.result.bonus, row.result.penalty) == (False, ZERO, ZERO)
    assert await status(bench) is ContractStatus.AWAITING_REVISION
    assert bench.emitted("outcome.held") == []
    assert [event.data["code"] for event in bench.emitted("output.rejected")] == ["too_dull"]
    await grade(bench, "this is hopeless")
    record = await outcome(bench)
    assert (record.final_status, record.billing_impact.penalty) == (ContractStatus.FAILED, ZERO)


async def test_retries_of_the_engine_run_the_verifier_once() -> None:
    bench = await opened(policy=Policy(max_system_retries=2))
    bench.grader.failures = 3
    await grade(bench, DULL)
    assert await status(bench) is ContractStatus.VERIFYING
    bench.verifiers.by_name["summary"] = bench.verifiers.by_name["nothing"]
    await bench.pass_time(timedelta(minutes=5))
    assert len(bench.verifiers.requests) == 1
    found = await state(bench)
    assert (found.status, found.verification.attempts_used) == (ContractStatus.AWAITING_REVISION, 1)
    assert bench.emitted("outcome.held") == []
