from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from aex_models.contract import AttemptStatus, ContractStatus
from aex_models.governance import Action, DecidedBy, Decision, Party, ValidationDecision, ValidationRequest
from aex_models.money import ZERO
from aex_models.outcome import BillingImpact
from aex_models.results import Verdict
from aex_verification.handlers.read import find_outcome
from aex_verification.repository import ATTEMPTS
from aex_verification.rules.records import Policy
from tests.services.verification.flow import (
    CONTRACT,
    GOOD,
    HOPELESS,
    SHORT,
    grade,
    opened,
    outcome,
    review,
    state,
    status,
)

SUSPECT: dict[str, Any] = {"consumer": Party(id="bot")}
"""Consumer and agent are the same: whatever closes is held."""
NOTHING = BillingImpact(base=ZERO, bonus=ZERO, penalty=ZERO, total=ZERO)
TERMS = {"cpc_rate": "0.10", "max_penalty_total": "0.04"}


def pays_for_delivery(policy: str) -> dict[str, Any]:
    return {"terms": {**TERMS, "base_policy": policy}}


async def test_held_outcome_settles_nothing_without_limit() -> None:
    bench = await opened(verifier=None, **SUSPECT)
    row = await grade(bench, GOOD)
    await bench.pass_time(timedelta(days=30))
    assert (await status(bench), row.status) == (ContractStatus.HELD, AttemptStatus.HELD)
    assert (await find_outcome(bench.deps, CONTRACT), bench.emitted("outcome.verified")) == (None, [])
    assert len(bench.emitted("outcome.held")) == 1


async def test_release_keeps_verdict_and_final_status() -> None:
    bench = await opened(verifier=None, verification={"max_attempts": 1}, **SUSPECT)
    await grade(bench, SHORT)
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert record.final_status is ContractStatus.EXHAUSTED
    assert record.verification_result is not None
    assert record.verification_result.verdict is Verdict.REJECTED
    assert not record.verification_result.success
    decided = record.verification_result.governance
    assert (decided.action, decided.decided_by) == (Action.ALLOW, DecidedBy.OPERATOR)
    assert [flag.rule for flag in decided.flags] == ["self_dealing"]


@pytest.mark.parametrize(("text", "failures"), [(GOOD, 0), (SHORT, 0), (GOOD, 1)])
async def test_rejected_hold_fails_as_fraud_and_costs_nothing(text: str, failures: int) -> None:
    changes = {"verification": {"max_attempts": 1}, **pays_for_delivery("judged"), **SUSPECT}
    bench = await opened(verifier=None, policy=Policy(max_system_retries=0), **changes)
    bench.grader.failures = failures
    await grade(bench, text)
    await review(bench, Decision.REJECT)
    record = await outcome(bench)
    assert record.final_status is ContractStatus.FAILED
    assert record.billing_impact == NOTHING


async def test_governance_rejection_fails_the_contract_at_no_cost() -> None:
    bench = await opened(verifier=None, **pays_for_delivery("judged"))
    await grade(bench, GOOD, claimed_metrics={"word_count": 300})
    record = await outcome(bench)
    assert record.final_status is ContractStatus.FAILED
    assert record.billing_impact == NOTHING
    assert record.verification_result is not None
    assert record.verification_result.governance.action is Action.REJECT
    assert record.verification_result.governance_flags == ("claimed_metric_mismatch",)
    assert bench.emitted("outcome.held") == []


@pytest.mark.parametrize("policy", ["judged", "on_success"])
async def test_released_indeterminate_outcome_pays_the_base_alone(policy: str) -> None:
    bench = await opened(verifier=None, policy=Policy(max_system_retries=0), **pays_for_delivery(policy))
    bench.grader.failures = 1
    await grade(bench, SHORT)
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    result = record.verification_result
    assert result is not None
    assert (record.final_status, result.verdict, result.success) == ("passed", "passed", True)
    assert record.billing_impact == NOTHING.model_copy(update={"base": Decimal("0.10"), "total": Decimal("0.10")})
    assert record.attempts_used == 1


async def test_retry_grades_the_candidate_under_an_uncounted_attempt() -> None:
    bench = await opened(verifier=None, **SUSPECT)
    first = await grade(bench, GOOD)
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    rows = [each.record for each in await ATTEMPTS.find(bench.store, {"contract_id": CONTRACT}, "created_at")]
    assert [each.attempt_id == first.attempt_id for each in rows] == [True, False]
    assert {each.candidate_hash for each in rows} == {first.candidate_hash}
    assert [each.counted for each in rows] == [True, False]
    assert (await state(bench)).verification.attempts_used == 1


async def test_repeated_or_late_decision_changes_nothing() -> None:
    bench = await opened(verifier=None, **SUSPECT)
    await grade(bench, GOOD)
    await review(bench, Decision.RETRY)  # of the first hold
    await review(bench, Decision.REJECT)
    assert await status(bench) is ContractStatus.VERIFYING
    await bench.deliver("output.submitted")
    await review(bench, Decision.RELEASE)  # of the second
    await review(bench, Decision.REJECT)
    assert (await outcome(bench)).final_status is ContractStatus.PASSED
    assert str((await outcome(bench)).billing_impact.total) == "0.15"
    assert len(bench.emitted("outcome.verified")) == 1


async def test_retry_keeps_a_fatal_rejection() -> None:
    bench = await opened(**SUSPECT)
    await grade(bench, SHORT)
    await grade(bench, HOPELESS)
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.HELD  # not open for revision
    await review(bench, Decision.RELEASE)
    assert ((await outcome(bench)).final_status, (await outcome(bench)).attempts_used) == ("failed", 2)


class Contradicting:
    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        del request
        return ValidationDecision(valid=False, action=Action.ALLOW)


async def test_invalid_decision_that_allows_is_held() -> None:
    bench = await opened(verifier=None)
    bench.rewire(replace(bench.deps, governance=Contradicting()))
    await grade(bench, GOOD)
    assert await status(bench) is ContractStatus.HELD
