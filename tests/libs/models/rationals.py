"""The cost of spec file 6 in exact rationals: the oracle of the tests of money."""

from fractions import Fraction

from aex_models.contract import Terms
from aex_models.governance import Action
from aex_models.results import Verdict, VerificationResult
from aex_models.work import BasePolicy


def exact(agreed: Terms, result: VerificationResult) -> dict[str, Fraction]:
    """The formulas of spec file 6, in rationals."""
    indeterminate = result.verdict is Verdict.INDETERMINATE
    rejected = result.governance.action is Action.REJECT
    unpaid = agreed.base_policy is BasePolicy.ON_SUCCESS and not result.success
    base = Fraction(0) if indeterminate or rejected or unpaid else Fraction(agreed.cpc_rate)
    gross_bonus = Fraction(0) if indeterminate or rejected else Fraction(result.bonus)
    gross_penalty = Fraction(0) if indeterminate else Fraction(result.penalty)
    bonus = gross_bonus if agreed.max_cpa_total is None else min(gross_bonus, Fraction(agreed.max_cpa_total))
    capped = (
        gross_penalty if agreed.max_penalty_total is None else min(gross_penalty, Fraction(agreed.max_penalty_total))
    )
    total = max(base + bonus - capped, Fraction(0))
    penalty = base + bonus - total
    return {
        "base": base,
        "bonus": bonus,
        "penalty": penalty,
        "total": total,
        "bonus_capped": gross_bonus - bonus,
        "penalty_waived": gross_penalty - penalty,
        "fee": Fraction(round(total * Fraction(agreed.fee_rate) * 10**6), 10**6),
    }
