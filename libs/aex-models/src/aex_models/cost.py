"""What an outcome costs: one pure function, for verification's `billing_impact` and settlement's posting."""

from decimal import Decimal
from typing import NamedTuple

from aex_models.contract import Terms
from aex_models.governance import Action, GovernanceResult
from aex_models.money import ZERO, share
from aex_models.outcome import BillingImpact
from aex_models.results import CriterionResult, Verdict, VerificationResult
from aex_models.settlement import Breakdown, Cost, CostLine
from aex_models.work import BasePolicy


def cost(terms: Terms, result: VerificationResult | None, contract_id: str = "") -> Cost:
    """The cost of an outcome under its terms; `result` is None where nothing was judged.

    base = cpc_rate where a candidate was judged (and succeeded, under `on_success`), 0 where governance
    rejected it; bonus and penalty are the verified ones under their caps; the total never falls below 0:
    what the floor takes away is waived from the penalty, so that base + bonus − penalty = total.
    An indeterminate verdict costs nobody anything; a rejected outcome has no verified bonus (spec files 2, 6).
    The fee is total × fee rate, half-even to a micro. The lines sum to bonus − penalty before caps and floor.
    """
    gross_bonus, gross_penalty = _verified(result)
    base, bonus, penalty, total = amounts_under(terms, _base(terms, result), gross_bonus, gross_penalty)
    return Cost(
        contract_id=contract_id or (result.contract_id if result else ""),
        currency=terms.currency,
        base=base,
        bonus=bonus,
        penalty=penalty,
        bonus_capped=gross_bonus - bonus,
        penalty_waived=gross_penalty - penalty,
        fee=share(total, terms.fee_rate),
        total=total,
        lines=_lines(result, gross_bonus, gross_penalty),
        breakdown=Breakdown(cpc=base, cpa_bonus=bonus, cpa_penalty=penalty),
    )


class Amounts(NamedTuple):
    """What an outcome costs, under caps and floor."""

    base: Decimal
    bonus: Decimal
    penalty: Decimal
    total: Decimal


def amounts_under(terms: Terms, base: Decimal, gross_bonus: Decimal, gross_penalty: Decimal) -> Amounts:
    """The base with what counts of a bonus and a penalty: the heart of `cost`, for whoever prices many outcomes."""
    bonus = _capped(gross_bonus, terms.max_cpa_total)
    penalty = min(_capped(gross_penalty, terms.max_penalty_total), base + bonus)
    return Amounts(base, bonus, penalty, base + bonus - penalty)


def base_of_judged(terms: Terms, *, success: bool) -> Decimal:
    """The base of an outcome that has a verdict and that governance did not reject."""
    return ZERO if terms.base_policy is BasePolicy.ON_SUCCESS and not success else terms.cpc_rate


def billing_impact(amounts: Cost) -> BillingImpact:
    """The four amounts of a cost that an outcome record carries."""
    return BillingImpact(base=amounts.base, bonus=amounts.bonus, penalty=amounts.penalty, total=amounts.total)


def _base(terms: Terms, result: VerificationResult | None) -> Decimal:
    if result is None or result.verdict is Verdict.INDETERMINATE or _rejected(result.governance):
        return ZERO
    return base_of_judged(terms, success=result.success)


def _verified(result: VerificationResult | None) -> tuple[Decimal, Decimal]:
    """The bonus and the penalty that count, before caps."""
    if result is None or result.verdict is Verdict.INDETERMINATE:
        return ZERO, ZERO
    return (ZERO if _rejected(result.governance) else result.bonus), result.penalty


def _rejected(governance: GovernanceResult) -> bool:
    return governance.action is Action.REJECT


def _capped(amount: Decimal, cap: Decimal | None) -> Decimal:
    return amount if cap is None else min(amount, cap)


def _lines(result: VerificationResult | None, bonus: Decimal, penalty: Decimal) -> tuple[CostLine, ...]:
    """A line for each criterion; `bonus` and `penalty`: what counts of all of them.

    Verified is the sum over all criteria or nothing (no success, governance's word, a release): then no line has any.
    """
    results = result.criterion_results if result else ()
    return tuple(_line(each, _amount(each, bonus, penalty)) for each in results)


def _amount(result: CriterionResult, bonus: Decimal, penalty: Decimal) -> Decimal:
    if result.met:
        return result.bonus if bonus else ZERO
    return -result.penalty if penalty else ZERO


def _line(result: CriterionResult, amount: Decimal) -> CostLine:
    return CostLine(
        metric=result.metric,
        value=result.value,
        threshold=result.threshold,
        comparison=result.comparison,
        met=result.met,
        amount=amount,
        secret=result.secret,
    )
