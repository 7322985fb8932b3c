"""The least and the most that a contract can cost, with a case that reaches each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import compress
from typing import Any

from aex_models.contract import Terms
from aex_models.cost import Amounts, amounts_under, base_of_judged
from aex_models.criteria import BonusPolicy, SuccessCriteria
from aex_models.money import ZERO
from aex_models.work import Budget, Quote, QuoteCase
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.aggregating import Scale
from aex_outcomes.extent import extent_of
from aex_outcomes.reachable import MAX_ENUMERATED, Met, combinations, groups


def quote(
    criteria: SuccessCriteria | None,
    budget: Budget,
    catalog: Catalog | None = None,
    evaluation: Mapping[str, Any] | None = None,
) -> Quote:
    """The price range over all reachable outcomes, with `max_cpc` as the base until an award names one.

    Up to 10 criteria all combinations that can be met together are enumerated, so that both ends are exact; beyond
    that the maximum is an upper bound (every bonus earned, no penalty). The least is always that of an outcome
    with nothing judged: 0. Raises `UnknownMetric`.
    """
    if criteria is None:
        return quote_reached(None, budget, ())
    count = len(criteria.criteria)
    if count > MAX_ENUMERATED:
        return quote_reached(criteria, budget, [(True,) * count])
    found = groups(criteria.criteria, catalog or Catalog.of(), extent_of(criteria.criteria, evaluation or {}))
    return quote_reached(criteria, budget, combinations(found, count))


def quote_reached(criteria: SuccessCriteria | None, budget: Budget, reached: Iterable[Met]) -> Quote:
    """The price range over the given combinations of met criteria, and over the outcomes that need none."""
    terms = Terms.of(budget, budget.max_cpc)
    priced = [(_amounts(terms, each), each) for each in _ends(criteria, reached)]
    return Quote(
        currency=budget.currency,
        minimum=_case(*min(priced, key=lambda case: case[0].total)),
        maximum=_case(*max(priced, key=lambda case: (case[0].total, case[1].success, len(case[1].met)))),
    )


@dataclass(frozen=True, slots=True)
class End:
    """One way for a contract to end. Amounts are gross."""

    judged: bool
    success: bool
    bonus: Decimal = ZERO
    penalty: Decimal = ZERO
    met: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


def _ends(criteria: SuccessCriteria | None, reached: Iterable[Met]) -> Iterator[End]:
    """The ways to end among which the least and the most are; the first is the one with nothing judged.

    Exhausted, expired and finalised contracts settle a judged candidate, so that they are among the combinations;
    an outcome that governance rejects costs no more than one with nothing judged; an indeterminate one that an
    operator releases costs the base alone. A work without criteria passes as delivered. A rejection by
    a verifier or the science gate takes success away, and what is paid for it, and earns nothing: it costs no more than
    the same criteria met without it.
    """
    names = tuple(each.metric for each in criteria.criteria) if criteria else ()
    yield End(judged=False, success=False, unmet=names)
    yield End(judged=True, success=True, unmet=names)
    if criteria is not None:
        ends = list(_judged(criteria, reached))
        for success in (True, False):
            yield from _dearest([each for each in ends if each.success is success])


def _judged(criteria: SuccessCriteria, reached: Iterable[Met]) -> Iterator[End]:
    scale, always = Scale.of(criteria), criteria.bonus_policy is BonusPolicy.PER_CRITERION
    names, bonuses, penalties = zip(
        *((each.metric, each.bonus, each.penalty) for each in criteria.criteria), strict=True
    )
    for met in reached:
        unmet = [not each for each in met]
        success = scale.succeeds(met)
        yield End(
            judged=True,
            success=success,
            bonus=sum(compress(bonuses, met), ZERO) if success or always else ZERO,
            penalty=sum(compress(penalties, unmet), ZERO),
            met=tuple(compress(names, met)),
            unmet=tuple(compress(names, unmet)),
        )


def _dearest(ends: Iterable[End]) -> Iterator[End]:
    """Those that none other beats in bonus and penalty at once: `cost` grows with the one and falls with the other."""
    least: Decimal | None = None
    for end in sorted(ends, key=lambda each: (-each.bonus, each.penalty, -len(each.met))):
        if least is None or end.penalty < least:
            least = end.penalty
            yield end


def _amounts(terms: Terms, end: End) -> Amounts:
    base = base_of_judged(terms, success=end.success) if end.judged else ZERO
    return amounts_under(terms, base, end.bonus, end.penalty)


def _case(amounts: Amounts, end: End) -> QuoteCase:
    return QuoteCase(**amounts._asdict(), success=end.success, met=end.met, unmet=end.unmet)
