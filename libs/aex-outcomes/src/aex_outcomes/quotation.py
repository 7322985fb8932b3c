"""The least and the most that a contract can cost, with a case that reaches each."""

from collections.abc import Iterator, Mapping
from typing import Any

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.criteria import BonusPolicy, SuccessCriteria
from aex_models.governance import Action, GovernanceResult
from aex_models.money import ZERO
from aex_models.results import Verdict, VerificationResult
from aex_models.work import Budget, Quote, QuoteCase
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.aggregating import criteria_succeed
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
    terms = Terms.of(budget, budget.max_cpc)
    cases = list(_cases(criteria, terms, catalog or Catalog.of(), evaluation))
    return Quote(
        currency=budget.currency,
        minimum=min(cases, key=lambda case: case.total),
        maximum=max(cases, key=lambda case: (case.total, case.success, len(case.met))),
    )


def _cases(
    criteria: SuccessCriteria | None, terms: Terms, catalog: Catalog, evaluation: Mapping[str, Any] | None
) -> Iterator[QuoteCase]:
    """Every distinct way for a contract to end: the first is the one with nothing judged.

    Exhausted, expired and finalised contracts settle a judged candidate, so that they are among the combinations;
    an outcome that governance rejects costs no more than one with nothing judged. An indeterminate outcome that an
    operator releases costs the base alone.
    """
    names = [each.metric for each in criteria.criteria] if criteria else []
    yield _case(terms, None, names, (False,) * len(names))
    yield _case(terms, _result(passed=True), names, (False,) * len(names))
    if criteria is None:
        return
    for met in _reached(criteria, catalog, evaluation):
        yield _case(terms, _judged(criteria, met), names, met)


def _reached(criteria: SuccessCriteria, catalog: Catalog, evaluation: Mapping[str, Any] | None) -> Iterator[Met]:
    count = len(criteria.criteria)
    if count > MAX_ENUMERATED:
        yield (True,) * count
    else:
        yield from combinations(groups(criteria.criteria, catalog, evaluation), count)


def _judged(criteria: SuccessCriteria, met: Met) -> VerificationResult:
    passed = criteria_succeed(criteria, met)
    earned = passed or criteria.bonus_policy is BonusPolicy.PER_CRITERION
    pairs = list(zip(criteria.criteria, met, strict=True))
    return _result(
        passed=passed,
        bonus=sum((each.bonus for each, is_met in pairs if is_met and earned), ZERO),
        penalty=sum((each.penalty for each, is_met in pairs if not is_met), ZERO),
    )


def _result(*, passed: bool, **amounts: Any) -> VerificationResult:
    """What `cost` reads of a result; the rest has no bearing on the price."""
    return VerificationResult.model_construct(
        contract_id="",
        verdict=Verdict.PASSED if passed else Verdict.REJECTED,
        success=passed,
        governance=GovernanceResult(action=Action.ALLOW),
        **amounts,
    )


def _case(terms: Terms, result: VerificationResult | None, names: list[str], met: Met) -> QuoteCase:
    amounts = cost(terms, result)
    return QuoteCase(
        base=amounts.base,
        bonus=amounts.bonus,
        penalty=amounts.penalty,
        total=amounts.total,
        success=result is not None and result.success,
        met=tuple(name for name, is_met in zip(names, met, strict=True) if is_met),
        unmet=tuple(name for name, is_met in zip(names, met, strict=True) if not is_met),
    )
