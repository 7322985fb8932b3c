from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.contract import FINAL_STATUSES, ContractStatus, Terms
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import Settlement, SettlementRevision, SettlementStatus
from aex_settlement.rules.settlements import SettlementRefused, check_outcome_and_recompute_cost, require_same_outcome
from aex_settlement.rules.transactions import make_settlement_transaction_id
from tests.services.settlement.outcomes import NOON, an_outcome, outcomes


@given(outcomes())
def test_an_outcome_that_agrees_with_the_cost_function_is_taken(outcome: OutcomeRecord) -> None:
    assert check_outcome_and_recompute_cost(outcome).total == outcome.billing_impact.total


@given(outcomes(), st.sampled_from(["base", "bonus", "penalty", "total"]))
def test_an_outcome_that_is_off_by_a_micro_is_refused(outcome: OutcomeRecord, name: str) -> None:
    impact = outcome.billing_impact
    off = impact.model_copy(update={name: getattr(impact, name) + Decimal("0.000001")})
    with pytest.raises(SettlementRefused, match="billing_impact_disagrees") as refused:
        check_outcome_and_recompute_cost(outcome.model_copy(update={"billing_impact": off}))
    assert refused.value.detail == f"recomputed cost differs in {name}"


@pytest.mark.parametrize("status", sorted({*ContractStatus} - FINAL_STATUSES | {ContractStatus.CANCELLED}))
def test_an_outcome_that_is_not_final_is_refused(status: ContractStatus) -> None:
    with pytest.raises(SettlementRefused, match="outcome_not_final"):
        check_outcome_and_recompute_cost(an_outcome(final_status=status))


@pytest.mark.parametrize("status", sorted(FINAL_STATUSES - {ContractStatus.CANCELLED}))
def test_every_other_final_status_is_settled(status: ContractStatus) -> None:
    assert check_outcome_and_recompute_cost(an_outcome(final_status=status)).total == Decimal("1.50")


def test_a_result_of_another_contract_is_refused() -> None:
    other = an_outcome("ctr_2").verification_result
    with pytest.raises(SettlementRefused, match="result_of_another_contract"):
        check_outcome_and_recompute_cost(an_outcome("ctr_1", verification_result=other))


@pytest.mark.parametrize("party", ["agent_id", "consumer_id"])
def test_a_party_that_cannot_have_an_account_is_refused(party: str) -> None:
    with pytest.raises(SettlementRefused, match="unknown_account"):
        check_outcome_and_recompute_cost(an_outcome(**{party: "no body"}))


def _settled(outcome: OutcomeRecord) -> Settlement:
    amounts = check_outcome_and_recompute_cost(outcome)
    return Settlement(
        **{name: getattr(outcome, name) for name in ("contract_id", "work_id", "agent_id", "consumer_id", "domain")},
        success=True,
        final_status=outcome.final_status,
        status=SettlementStatus.SETTLED,
        revision=1,
        revisions=(SettlementRevision(revision=1, cost=amounts, settled_at=NOON),),
        cost=amounts,
        settled_at=NOON,
    )


@given(outcomes())
def test_repeated_outcome_is_a_replay(outcome: OutcomeRecord) -> None:
    require_same_outcome(_settled(outcome), outcome, check_outcome_and_recompute_cost(outcome))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"agent_id": "other"}, "agent_id"),
        ({"consumer_id": "other"}, "consumer_id"),
        ({"work_id": "other"}, "work_id"),
        ({"terms": Terms(cpc_rate=Decimal(2), fee_rate=Decimal("0.10"))}, "base, total, fee"),
        ({"terms": Terms(cpc_rate=Decimal(1), fee_rate=Decimal("0.20"))}, "fee"),
        ({"terms": Terms(cpc_rate=Decimal(1), fee_rate=Decimal("0.10"), currency="EUR")}, "currency"),
    ],
)
def test_a_settled_contract_that_comes_as_another_outcome_is_refused(change: dict[str, Any], named: str) -> None:
    other = an_outcome(**change)
    with pytest.raises(SettlementRefused, match="settled_otherwise") as refused:
        require_same_outcome(_settled(an_outcome()), other, check_outcome_and_recompute_cost(other))
    assert refused.value.detail == f"the contract is settled with another {named}"


def test_a_transactions_id_is_made_from_contract_and_revision_alone() -> None:
    ids = {
        make_settlement_transaction_id(contract, revision)
        for contract in ("ctr_1", "ctr_11")
        for revision in (1, 2, 11)
    }
    assert len(ids) == 6
    assert make_settlement_transaction_id("ctr_1", 1) in ids
