"""The bonus and the penalty that a verdict verifies, before the budget's caps (those are settlement's and `cost`'s)."""

from collections.abc import Iterable
from decimal import Decimal

from aex_models.criteria import BonusPolicy
from aex_models.money import ZERO
from aex_models.results import CriterionResult


def verified_bonus(results: Iterable[CriterionResult], policy: BonusPolicy, *, success: bool) -> Decimal:
    """Σ bonus of met criteria; under `on_success` 0 without success. What governance does to it: `governance`."""
    if policy is BonusPolicy.ON_SUCCESS and not success:
        return ZERO
    return sum((each.bonus for each in results if each.met), ZERO)


def verified_penalty(results: Iterable[CriterionResult]) -> Decimal:
    """Σ penalty of unmet criteria, whatever the reason."""
    return sum((each.penalty for each in results if not each.met), ZERO)
