"""From the criteria that are met to one verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import compress

from aex_models.criteria import Aggregation, SuccessCriteria, SuccessCriterion
from aex_models.numbers import text_of


def effective_required(criteria: SuccessCriteria, criterion: SuccessCriterion) -> bool:
    """What the criterion sets; unset, true under `all` and false under `any` and `weighted`."""
    return criteria.aggregation is Aggregation.ALL if criterion.required is None else criterion.required


@dataclass(frozen=True, slots=True)
class Scale:
    """The weights of some criteria as whole numbers, in proportion.

    Weights count as the decimals that they are written as: 0.7 and 0.1 make 0.8, and reach a minimum of 0.8.
    """

    aggregation: Aggregation
    required: tuple[bool, ...]
    weights: tuple[int, ...]
    minimum: Fraction

    @classmethod
    def of(cls, criteria: SuccessCriteria) -> "Scale":
        """The scale of these criteria, for as many verdicts as one likes."""
        return cls(
            aggregation=criteria.aggregation,
            required=tuple(effective_required(criteria, each) for each in criteria.criteria),
            weights=_in_proportion(tuple(text_of(each.weight) for each in criteria.criteria)),
            minimum=_exactly(text_of(criteria.minimum_weighted_score)),
        )

    def share(self, met: Sequence[bool]) -> Fraction:
        """Σ weight·met / Σ weight over all criteria, exactly. Errors count as unmet."""
        return Fraction(sum(compress(self.weights, met)), sum(self.weights))

    def succeeds(self, met: Sequence[bool]) -> bool:
        """Whether the criteria as a whole are met. An explicit `required: true` gates every aggregation."""
        if any(required and not is_met for required, is_met in zip(self.required, met, strict=True)):
            return False
        if self.aggregation is Aggregation.ANY:
            return any(met)
        return self.aggregation is Aggregation.ALL or self.share(met) >= self.minimum


@lru_cache(maxsize=1_024)  # they are few, and come again with each verdict on a work
def _in_proportion(weights: tuple[str, ...]) -> tuple[int, ...]:
    exact = [Fraction(each) for each in weights]
    unit = math.lcm(*(weight.denominator for weight in exact))
    return tuple(int(weight * unit) for weight in exact)


@lru_cache(maxsize=1_024)
def _exactly(number: str) -> Fraction:
    return Fraction(number)
