"""From the criteria that are met to one verdict."""

from collections.abc import Sequence
from fractions import Fraction

from aex_models.criteria import Aggregation, SuccessCriteria, SuccessCriterion
from aex_models.numbers import text_of


def effective_required(criteria: SuccessCriteria, criterion: SuccessCriterion) -> bool:
    """What the criterion sets; unset, true under `all` and false under `any` and `weighted`."""
    return criteria.aggregation is Aggregation.ALL if criterion.required is None else criterion.required


def weighted_share(criteria: SuccessCriteria, met: Sequence[bool]) -> Fraction:
    """Σ weight·met / Σ weight over all criteria, exactly.

    Weights count as the decimals that they are written as: 0.7 and 0.1 make 0.8, and reach a minimum of 0.8.
    """
    weights = [Fraction(text_of(each.weight)) for each in criteria.criteria]
    return sum((weight for weight, each in zip(weights, met, strict=True) if each), Fraction()) / sum(weights)


def criteria_succeed(criteria: SuccessCriteria, met: Sequence[bool]) -> bool:
    """Whether the criteria as a whole are met. An explicit `required: true` gates every aggregation."""
    pairs = list(zip(criteria.criteria, met, strict=True))
    if any(effective_required(criteria, each) and not is_met for each, is_met in pairs):
        return False
    if criteria.aggregation is Aggregation.ANY:
        return any(met)
    if criteria.aggregation is Aggregation.WEIGHTED:
        return weighted_share(criteria, met) >= Fraction(text_of(criteria.minimum_weighted_score))
    return True
