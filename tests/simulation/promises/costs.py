"""Limits of an outcome's cost: nothing without a verdict, no unearned bonus, at most the quoted total."""

from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal

from aex_models.criteria import BonusPolicy
from aex_models.examination import Fault
from aex_models.governance import Action, DecidedBy
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import Settlement, SettlementStatus
from tests.simulation.promises.promise import require_promise
from tests.simulation.promises.seen import Observations

_MICRO = Decimal("0.000001")


def check_outcome(seen: Observations, _: OutcomeRecord | None, outcome: OutcomeRecord) -> None:
    """Check the cost of an outcome that was just written."""
    seen.outcomes[outcome.contract_id] = outcome
    impact, result, who = outcome.billing_impact, outcome.verification_result, outcome.contract_id
    adds_up = impact.base + impact.bonus - impact.penalty == impact.total
    require_promise(adds_up, "a total is base and bonus less penalty", who)
    if result is None:
        require_promise(impact.total == 0, "an outcome without a verdict costs nothing", who)
        return
    if any(each.error and each.error.fault is Fault.PLATFORM for each in result.criterion_results):
        nothing = impact.bonus == impact.penalty == 0
        require_promise(nothing, "an indeterminate outcome is not paid", who)
    policy = outcome.success_criteria.bonus_policy if outcome.success_criteria else BonusPolicy.ON_SUCCESS
    if policy is BonusPolicy.ON_SUCCESS and not result.success:
        require_promise(impact.bonus == 0, "no bonus without success", who)
    if result.governance.action is not Action.ALLOW:
        require_promise(impact.bonus == 0, "no bonus that governance did not allow", who)
    if result.governance.action is Action.ALLOW and result.governance.decided_by is DecidedBy.RULES:
        require_promise(
            Action.ALLOW in seen.words.get(who, ()), "nothing counts as allowed that governance did not allow", who
        )
    if result.success and result.science and result.governance.decided_by is not DecidedBy.OPERATOR:
        require_promise(bool(result.science.passed), "no success against the science", who)
    if result.governance.action is Action.REJECT:
        require_promise(impact.total == 0, "what governance rejected costs nothing", who)


def check_settlement(seen: Observations, settlement: Settlement) -> None:
    """Check the cost of a contract that was just settled for the first time."""
    who = settlement.contract_id
    outcome = seen.outcomes.get(who)
    require_promise(outcome is not None, "only an outcome is settled", who)
    if outcome is not None:
        impact, cost = outcome.billing_impact, settlement.cost
        reported = (impact.base, impact.bonus, impact.penalty, impact.total)
        require_promise(
            reported == (cost.base, cost.bonus, cost.penalty, cost.total), "billing impact is settlement", who
        )


def check_posted(settlement: Settlement, posted: Mapping[str, int]) -> None:
    """Check that a contract's transactions sum to its current cost, or to nothing after a reversal."""
    who, cost = settlement.contract_id, settlement.cost
    fee = (cost.total * settlement.fee_rate).quantize(_MICRO, ROUND_HALF_EVEN)
    require_promise(cost.fee == fee, "a fee is the total times its rate", who)
    owed = {
        f"consumer:{settlement.consumer_id}": cost.total,
        f"agent:{settlement.agent_id}": cost.fee - cost.total,
        "platform:fees": -cost.fee,
    }
    stands = settlement.status is SettlementStatus.SETTLED
    expected = {account: int(amount / _MICRO) for account, amount in owed.items() if amount and stands}
    found = {account: amount for account, amount in posted.items() if amount}
    require_promise(found == expected, "what is booked is the cost", f"{who}: {found}, not {expected}")
