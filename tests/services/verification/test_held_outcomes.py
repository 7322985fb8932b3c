"""What becomes of a held outcome: spec file 5, from the hold to what is owed."""

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
from aex_verification.handlers.close import finalise_contract
from aex_verification.handlers.read import outcome_of
from aex_verification.repository import ATTEMPTS
from aex_verification.rules.policy import Policy
from tests.parts.verification import NO_KEY, VerificationBench
from tests.services.verification.flow import (
    CONTRACT,
    GOOD,
    HOPELESS,
    SHORT,
    judge,
    opened,
    outcome,
    post,
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


async def test_a_held_outcome_settles_nothing_and_waits_without_limit() -> None:
    bench = await opened(verifier=None, **SUSPECT)
    row = await judge(bench, GOOD)
    await bench.pass_time(timedelta(days=30))
    assert (await status(bench), row.status) == (ContractStatus.HELD, AttemptStatus.HELD)
    assert (await outcome_of(bench.deps, CONTRACT), bench.emitted("outcome.verified")) == (None, [])
    assert len(bench.emitted("outcome.held")) == 1


async def test_release_keeps_a_rejected_verdict_and_how_the_contract_ends() -> None:
    bench = await opened(verifier=None, verification={"max_attempts": 1}, **SUSPECT)
    await judge(bench, SHORT)
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert record.final_status is ContractStatus.EXHAUSTED
    assert record.verification_result is not None
    assert record.verification_result.verdict is Verdict.REJECTED
    assert not record.verification_result.success
    word = record.verification_result.governance
    assert (word.action, word.decided_by, [flag.rule for flag in word.flags]) == (
        Action.ALLOW,
        DecidedBy.OPERATOR,
        ["self_dealing"],
    )


@pytest.mark.parametrize("policy", ["judged", "on_success"])
@pytest.mark.parametrize("text", [GOOD, SHORT])
async def test_a_rejected_hold_fails_as_fraud_and_nothing_is_owed_whatever_is_paid_for(policy: str, text: str) -> None:
    bench = await opened(verifier=None, verification={"max_attempts": 1}, **pays_for_delivery(policy), **SUSPECT)
    await judge(bench, text)
    await review(bench, Decision.REJECT)
    record = await outcome(bench)
    assert record.final_status is ContractStatus.FAILED
    assert record.billing_impact == NOTHING


@pytest.mark.parametrize("policy", ["judged", "on_success"])
async def test_what_governance_rejects_fails_without_an_operator_and_nothing_is_owed(policy: str) -> None:
    bench = await opened(verifier=None, **pays_for_delivery(policy))
    await judge(bench, GOOD, claimed_metrics={"word_count": 300})
    record = await outcome(bench)
    assert record.final_status is ContractStatus.FAILED
    assert record.billing_impact == NOTHING
    assert bench.emitted("outcome.held") == []


@pytest.mark.parametrize("policy", ["judged", "on_success"])
async def test_an_indeterminate_outcome_that_is_released_is_a_success_without_bonus_or_penalty(policy: str) -> None:
    bench = await opened(verifier=None, policy=Policy(max_system_retries=0), **pays_for_delivery(policy))
    bench.judge.failures = 1
    await judge(bench, SHORT)
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    result = record.verification_result
    assert result is not None
    assert (record.final_status, result.verdict, result.success) == ("passed", "passed", True)
    assert record.billing_impact == NOTHING.model_copy(update={"base": Decimal("0.10"), "total": Decimal("0.10")})
    assert record.attempts_used == 1


async def test_an_indeterminate_outcome_that_is_rejected_costs_nothing() -> None:
    bench = await opened(verifier=None, policy=Policy(max_system_retries=0), **pays_for_delivery("judged"))
    bench.judge.failures = 1
    await judge(bench, GOOD)
    await review(bench, Decision.REJECT)
    record = await outcome(bench)
    assert record.final_status is ContractStatus.FAILED
    assert record.billing_impact == NOTHING


async def test_retry_verifies_the_same_candidate_under_another_attempt_that_is_not_counted() -> None:
    bench = await opened(verifier=None, **SUSPECT)
    first = await judge(bench, GOOD)
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    rows = [each.record for each in await ATTEMPTS.find(bench.store, {"contract_id": CONTRACT}, "created_at")]
    assert [each.attempt_id == first.attempt_id for each in rows] == [True, False]
    assert {each.candidate_hash for each in rows} == {first.candidate_hash}
    assert [each.counted for each in rows] == [True, False]
    assert (await state(bench)).verification.attempts_used == 1


async def test_a_decision_that_comes_twice_or_too_late_changes_nothing() -> None:
    bench = await opened(verifier=None, **SUSPECT)
    await judge(bench, GOOD)
    await review(bench, Decision.RETRY)  # of the first hold
    await review(bench, Decision.REJECT)
    assert await status(bench) is ContractStatus.VERIFYING
    await bench.deliver("output.submitted")
    await review(bench, Decision.RELEASE)  # of the second
    await review(bench, Decision.REJECT)
    assert (await outcome(bench)).final_status is ContractStatus.PASSED
    assert len(bench.emitted("outcome.verified")) == 1


async def test_a_retry_does_not_undo_that_the_verifier_gave_up_on_the_agent() -> None:
    bench = await opened(**SUSPECT)
    await judge(bench, SHORT)
    await judge(bench, HOPELESS)
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) is ContractStatus.HELD  # not open for revision
    await review(bench, Decision.RELEASE)
    assert ((await outcome(bench)).final_status, (await outcome(bench)).attempts_used) == ("failed", 2)


class Saying:
    """Governance that always says this."""

    def __init__(self, decision: ValidationDecision) -> None:
        self.decision = decision

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        del request
        return self.decision


async def test_what_is_allowed_but_not_valid_is_held() -> None:
    bench = VerificationBench()
    bench.rewire(replace(bench.deps, governance=Saying(ValidationDecision(valid=False, action=Action.ALLOW))))
    await bench.award()
    await judge(bench, GOOD)
    assert await status(bench) is ContractStatus.HELD


async def test_an_agent_that_settles_early_is_held_too_and_loses_nothing_by_it() -> None:
    bench = await opened(verifier=None, **SUSPECT, **pays_for_delivery("judged"))
    await judge(bench, SHORT)
    await finalise_contract(bench.deps, "bot", CONTRACT, NO_KEY)
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RELEASE)
    record = await outcome(bench)
    assert (record.final_status, str(record.billing_impact.base)) == (ContractStatus.FINALISED, "0.10")
    assert (await post(bench, SHORT)).status is AttemptStatus.JUDGED
