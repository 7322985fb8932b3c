"""The cost of an outcome, for verification's `billing_impact` and settlement's posting."""

from decimal import Decimal
from typing import NamedTuple

from aex_models.contract import Terms
from aex_models.governance import Action
from aex_models.money import ZERO, multiply_by_rate
from aex_models.outcome import BillingImpact
from aex_models.results import CriterionResult, Verdict, VerificationResult
from aex_models.settlement import Breakdown, Cost, CostLine
from aex_models.work import BasePolicy


def cost(terms: Terms, result: VerificationResult | None, contract_id: str = "") -> Cost:
    """Return the cost of an outcome under its terms; `result` is None if nothing was judged.

    base = cpc_rate for a judged candidate (under `on_success` a successful one), 0 if governance rejected it.
    Bonus and penalty are the verified ones under their caps. The total is at least 0: the excess is waived from
    the penalty, so that base + bonus − penalty = total.
    An indeterminate verdict costs 0; a rejected outcome has no verified bonus (spec files 2, 6).
    The fee is total × fee rate, half-even to a micro. The lines sum to bonus − penalty before caps and floor.
    """
    judged = result is not None and result.verdict is not Verdict.INDETERMINATE
    rejected = result is not None and result.governance.action is Action.REJECT
    gross_bonus = result.bonus if result and judged and not rejected else ZERO
    gross_penalty = result.penalty if result and judged else ZERO
    gross_base = (
        compute_base_for_judged_outcome(terms, success=result.success) if result and judged and not rejected else ZERO
    )
    base, bonus, penalty, total = apply_caps_and_floor(terms, gross_base, gross_bonus, gross_penalty)
    return Cost(
        contract_id=contract_id or (result.contract_id if result else ""),
        currency=terms.currency,
        base=base,
        bonus=bonus,
        penalty=penalty,
        bonus_capped=gross_bonus - bonus,
        penalty_waived=gross_penalty - penalty,
        fee=multiply_by_rate(total, terms.fee_rate),
        total=total,
        lines=tuple(
            _build_cost_line(each, gross_bonus, gross_penalty) for each in (result.criterion_results if result else ())
        ),
        breakdown=Breakdown(cpc=base, cpa_bonus=bonus, cpa_penalty=penalty),
    )


class Amounts(NamedTuple):
    """An outcome's amounts after the caps of its terms and the floor of 0."""

    base: Decimal
    bonus: Decimal
    penalty: Decimal
    total: Decimal


def apply_caps_and_floor(terms: Terms, base: Decimal, gross_bonus: Decimal, gross_penalty: Decimal) -> Amounts:
    """Return the amounts under the caps of `terms`, with a total of at least 0.

    A penalty above base + bonus is reduced to base + bonus.
    """
    bonus = gross_bonus if terms.max_cpa_total is None else min(gross_bonus, terms.max_cpa_total)
    capped = gross_penalty if terms.max_penalty_total is None else min(gross_penalty, terms.max_penalty_total)
    penalty = min(capped, base + bonus)
    return Amounts(base, bonus, penalty, base + bonus - penalty)


def compute_base_for_judged_outcome(terms: Terms, *, success: bool) -> Decimal:
    """Return the base amount of an outcome that has a verdict and that governance did not reject.

    It is 0 if the base is paid only on success and the outcome is no success.
    """
    return ZERO if terms.base_policy is BasePolicy.ON_SUCCESS and not success else terms.cpc_rate


def to_billing_impact(outcome_cost: Cost) -> BillingImpact:
    """Return base, bonus, penalty and total of a cost, as an outcome record stores them."""
    return BillingImpact(
        base=outcome_cost.base, bonus=outcome_cost.bonus, penalty=outcome_cost.penalty, total=outcome_cost.total
    )


def _build_cost_line(result: CriterionResult, bonus: Decimal, penalty: Decimal) -> CostLine:
    """Return the cost line of a criterion. `bonus` and `penalty` are the verified sums over all criteria.

    If a sum is 0, as after a rejection by governance, that part of every line is 0.
    """
    earned, incurred = (result.bonus if bonus else ZERO), (-result.penalty if penalty else ZERO)
    return CostLine(
        metric=result.metric,
        value=result.value,
        criterion=result.criterion,
        threshold=result.threshold,
        comparison=result.comparison,
        met=result.met,
        amount=earned if result.met else incurred,
        secret=result.secret,
    )
