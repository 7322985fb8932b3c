"""Price quote: the minimum and the maximum that a contract can cost, with a case that reaches each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import compress
from typing import Any

from aex_models.contract import Terms
from aex_models.cost import Amounts, apply_caps_and_floor, compute_base_for_judged_outcome
from aex_models.criteria import BonusPolicy, SuccessCriteria
from aex_models.money import ZERO
from aex_models.work import Budget, Quote, QuoteCase
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.verdict import CriteriaWeights
from aex_outcomes.evaluation_counts import count_evaluation_items
from aex_outcomes.feasibility import (
    MAX_ENUMERATED,
    Met,
    enumerate_feasible_combinations,
    group_dependent_criteria,
)


def quote(
    criteria: SuccessCriteria | None,
    budget: Budget,
    catalog: Catalog | None = None,
    evaluation: Mapping[str, Any] | None = None,
) -> Quote:
    """Return the minimum and maximum price of a work over all feasible outcomes.

    The base price is `max_cpc`, because none is agreed before an award. Both ends are exact for up to 10 criteria. For
    more, the maximum is an upper bound with every bonus and no penalty, and the minimum is 0. `evaluation`: the work's
    evaluation data, of which only sizes are read. Raises `UnknownMetric`.
    """
    listed = criteria.criteria if criteria else ()
    if criteria is None or len(listed) > MAX_ENUMERATED:
        return quote_for_combinations(criteria, budget, [(True,) * len(listed)])
    found = group_dependent_criteria(listed, catalog or Catalog.of(), count_evaluation_items(listed, evaluation or {}))
    return quote_for_combinations(criteria, budget, enumerate_feasible_combinations(found, len(listed)))


def quote_for_combinations(criteria: SuccessCriteria | None, budget: Budget, combinations: Iterable[Met]) -> Quote:
    """Return the price range over these combinations of met criteria, and over outcomes without a verdict."""
    terms = Terms.from_budget(budget, budget.max_cpc)
    priced = []
    for ending in _candidate_endings(criteria, combinations):
        base = compute_base_for_judged_outcome(terms, success=ending.success) if ending.judged else ZERO
        priced.append((apply_caps_and_floor(terms, base, ending.bonus, ending.penalty), ending))
    return Quote(
        currency=budget.currency,
        minimum=_case(*min(priced, key=lambda case: case[0].total)),
        maximum=_case(*max(priced, key=lambda case: (case[0].total, case[1].success, len(case[1].met)))),
    )


@dataclass(frozen=True, slots=True)
class ContractEnding:
    """Possible end of a contract; amounts are before the budget's caps."""

    judged: bool
    success: bool
    bonus: Decimal = ZERO
    penalty: Decimal = ZERO
    met: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


def _candidate_endings(criteria: SuccessCriteria | None, reached: Iterable[Met]) -> Iterator[ContractEnding]:
    """Yield endings that include the cheapest and the dearest one; the first has no verdict.

    Other endings need no case of their own. Exhausted, expired and finalised contracts settle a verified candidate.
    An outcome that governance rejects costs no more than one without a verdict. A rejection by a verifier or the
    science gate costs no more than the criteria alone. An indeterminate outcome that an operator releases costs the
    base alone: the second case.
    """
    names = tuple(each.metric for each in criteria.criteria) if criteria else ()
    yield ContractEnding(judged=False, success=False, unmet=names)
    yield ContractEnding(judged=True, success=True, unmet=names)
    if criteria is not None:
        endings = list(_verified_endings(criteria, reached))
        for success in (True, False):
            yield from _dearest_endings([each for each in endings if each.success is success])


def _verified_endings(criteria: SuccessCriteria, reached: Iterable[Met]) -> Iterator[ContractEnding]:
    scale, pays_per_criterion = (
        CriteriaWeights.from_criteria(criteria),
        criteria.bonus_policy is BonusPolicy.PER_CRITERION,
    )
    triples = ((each.metric, each.bonus, each.penalty) for each in criteria.criteria)
    names, bonuses, penalties = zip(*triples, strict=True)
    for met in reached:
        unmet = [not each for each in met]
        success = scale.succeeds(met)
        yield ContractEnding(
            judged=True,
            success=success,
            bonus=sum(compress(bonuses, met), ZERO) if success or pays_per_criterion else ZERO,
            penalty=sum(compress(penalties, unmet), ZERO),
            met=tuple(compress(names, met)),
            unmet=tuple(compress(names, unmet)),
        )


def _dearest_endings(endings: Iterable[ContractEnding]) -> Iterator[ContractEnding]:
    """Yield the endings that no other one exceeds in bonus without a higher penalty."""
    lowest_penalty: Decimal | None = None
    for ending in sorted(endings, key=lambda each: (-each.bonus, each.penalty, -len(each.met))):
        if lowest_penalty is None or ending.penalty < lowest_penalty:
            lowest_penalty = ending.penalty
            yield ending


def _case(amounts: Amounts, ending: ContractEnding) -> QuoteCase:
    return QuoteCase(**amounts._asdict(), success=ending.success, met=ending.met, unmet=ending.unmet)
