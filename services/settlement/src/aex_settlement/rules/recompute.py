"""Whether an outcome may be settled: the cost is computed anew and held against what the outcome says."""

from aex_models.contract import FINAL_STATUSES, ContractStatus
from aex_models.cost import billing_impact, cost
from aex_models.outcome import BillingImpact, OutcomeRecord
from aex_models.settlement import Cost, Settlement
from aex_settlement.rules.accounts import agent_account, consumer_account, is_account

SETTLED_STATUSES = FINAL_STATUSES - {ContractStatus.CANCELLED}
"""What ends with an outcome: a cancelled contract has none."""


class Refused(Exception):
    """This outcome cannot be settled. `code` is stable; `detail` names fields, never values."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail


def recomputed_cost(outcome: OutcomeRecord) -> Cost:
    """The cost of an outcome, from its terms and its result. Raises `Refused` where the record contradicts itself."""
    if outcome.final_status not in SETTLED_STATUSES:
        raise Refused("outcome_not_final", f"final_status is {outcome.final_status}")
    result = outcome.verification_result
    if result is not None and result.contract_id != outcome.contract_id:
        raise Refused("result_of_another_contract", "verification_result.contract_id differs from contract_id")
    for account in (consumer_account(outcome.consumer_id), agent_account(outcome.agent_id)):
        if not is_account(account):
            raise Refused("unknown_account", "consumer_id or agent_id cannot name an account")
    amounts = cost(outcome.terms, result, outcome.contract_id)
    wrong = _differences(billing_impact(amounts), outcome.billing_impact)
    if wrong:
        raise Refused("billing_impact_disagrees", f"recomputed cost differs in {', '.join(wrong)}")
    return amounts


def check_replay(settlement: Settlement, outcome: OutcomeRecord, amounts: Cost) -> None:
    """Raise `Refused` where a contract that is settled comes again as another outcome."""
    booked = settlement.revisions[0].cost
    wrong = _differences(billing_impact(booked), billing_impact(amounts))
    wrong += [name for name in ("fee", "currency") if getattr(booked, name) != getattr(amounts, name)]
    wrong += [
        name for name in ("work_id", "agent_id", "consumer_id") if getattr(settlement, name) != getattr(outcome, name)
    ]
    if wrong:
        raise Refused("settled_otherwise", f"the contract is settled with another {', '.join(wrong)}")


def _differences(one: BillingImpact, other: BillingImpact) -> list[str]:
    return [name for name in BillingImpact.model_fields if getattr(one, name) != getattr(other, name)]
