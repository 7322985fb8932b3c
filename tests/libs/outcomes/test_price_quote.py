from decimal import Decimal
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.criteria import BonusPolicy, SuccessCriteria
from aex_models.results import Verdict, VerificationResult
from aex_models.work import Budget, Quote
from aex_outcomes import quote
from aex_outcomes.engine.final_result import combine_with_ruling, sum_earned_bonuses, sum_incurred_penalties
from aex_outcomes.engine.verdict import CriteriaWeights
from aex_outcomes.lifecycle.ruling import Rejected, Rejection
from tests.libs.outcomes.engine.builders import criteria, criterion, result

METRICS = ("output_length", "word_count", "latency_ms", "num_predictions")


def budget(**more: Any) -> Budget:
    return Budget.model_validate({"max_cpc": "1"} | more)


def totals(found: Quote) -> tuple[float, float]:
    return float(found.minimum.total), float(found.maximum.total)


def test_a_work_without_criteria_costs_nothing_or_the_base() -> None:
    found = quote(None, budget(currency="EUR"))
    assert totals(found) == (0, 1)
    assert (found.currency, found.minimum.success, found.maximum.success) == ("EUR", False, True)


def test_the_maximum_names_the_case_that_reaches_it() -> None:
    expected = criteria(criterion("latency_ms", "lte", 500, bonus="2"), criterion("word_count", "gte", 5, bonus="3"))
    found = quote(expected, budget(max_cpa_total="4"))
    assert totals(found) == (0, 5)
    assert found.maximum.met == ("latency_ms", "word_count")
    assert (float(found.maximum.base), float(found.maximum.bonus), found.maximum.unmet) == (1, 4, ())
    assert found.minimum.unmet == ("latency_ms", "word_count")


def test_an_operators_release_is_a_reachable_outcome() -> None:
    expected = criteria(
        criterion("latency_ms", "lte", 100, penalty="0.4"), criterion("latency_ms", "gt", 100, penalty="0.3")
    )
    found = quote(expected, budget())
    assert (totals(found), found.maximum.success) == ((0, 1), True)


def test_the_minimum_is_that_of_an_outcome_with_nothing_judged() -> None:
    found = quote(criteria(criterion(penalty="5")), budget())
    assert found.minimum.model_dump(exclude={"unmet", "met"}) == {
        "base": 0, "bonus": 0, "penalty": 0, "total": 0, "success": False,
    }  # fmt: skip


def test_beyond_ten_criteria_the_maximum_is_an_upper_bound() -> None:
    expected = criteria(*(criterion("word_count", "gte", number, bonus="1") for number in range(11)))
    assert totals(quote(expected, budget())) == (0, 12)


@st.composite
def works(draw: st.DrawFn) -> tuple[SuccessCriteria, Budget]:
    amounts = st.integers(0, 5).map(lambda cents: str(Decimal(cents) / 4))
    listed = [
        criterion(
            draw(st.sampled_from(METRICS)),
            draw(st.sampled_from(["gte", "lt", "eq"])),
            draw(st.integers(0, 3)) + position * 10,
            bonus=draw(amounts),
            penalty=draw(amounts),
            required=draw(st.sampled_from([None, True, False])),
            weight=draw(st.integers(1, 3)),
        )
        for position in range(draw(st.integers(1, 4)))
    ]
    policies = {"aggregation": draw(st.sampled_from(["all", "any", "weighted"]))}
    policies["bonus_policy"] = draw(st.sampled_from(["on_success", "per_criterion"]))
    caps = {name: draw(st.none() | amounts) for name in ("max_cpa_total", "max_penalty_total")}
    base = draw(st.sampled_from(["judged", "on_success"]))
    return criteria(*listed, **policies), budget(base_policy=base, **caps)


@given(works())
def test_the_maximum_is_that_of_trying_out_every_value(work: tuple[SuccessCriteria, Budget]) -> None:
    expected, money = work
    terms = Terms.from_budget(money, money.max_cpc)
    values = [-1.0, *(step / 2 for step in range(90))]  # −1: missing
    used = sorted({each.metric for each in expected.criteria})
    dearest = Decimal(money.max_cpc)  # an operator's release
    seen: set[tuple[bool, ...]] = set()
    for tried in product(*(_distinct(expected, metric, values) for metric in used)):
        by_position = {position: met for part in tried for position, met in part}
        seen.add(tuple(by_position[position] for position in range(len(expected.criteria))))
    for met in seen:
        passed = CriteriaWeights.from_criteria(expected).succeeds(met)
        earns = passed or expected.bonus_policy is BonusPolicy.PER_CRITERION
        bonus = sum(each.bonus for each, is_met in zip(expected.criteria, met, strict=True) if is_met and earns)
        penalty = sum(each.penalty for each, is_met in zip(expected.criteria, met, strict=True) if not is_met)
        outcome = result(verdict=Verdict.PASSED if passed else Verdict.REJECTED, success=passed).model_copy(
            update={"bonus": Decimal(bonus), "penalty": Decimal(penalty)}
        )
        dearest = max(dearest, cost(terms, outcome).total)
    assert quote(expected, money).maximum.total == dearest


def _distinct(expected: SuccessCriteria, metric: str, values: list[float]) -> set[tuple[tuple[int, bool], ...]]:
    complete = metric != "latency_ms"
    compare = {"gte": lambda v, t: v >= t, "lt": lambda v, t: v < t, "eq": lambda v, t: v == t}
    return {
        tuple(
            (position, value >= 0 and compare[each.comparison.value](value, each.threshold))
            for position, each in enumerate(expected.criteria)
            if each.metric == metric
        )
        for value in values
        if not complete or value == int(value)
    }


@given(works())
def test_every_judged_total_lies_within_the_range(work: tuple[SuccessCriteria, Budget]) -> None:
    found = quote(*work)
    assert found.minimum.total == 0 <= found.maximum.total
    case = found.maximum
    assert case.base + case.bonus - case.penalty == case.total


@given(works())
def test_a_verifiers_rejection_never_costs_more_than_its_word_that_the_output_is_good(
    work: tuple[SuccessCriteria, Budget],
) -> None:
    expected, money = work
    terms = Terms.from_budget(money, money.max_cpc)
    for met in product((True, False), repeat=len(expected.criteria)):
        accepted = _judged(expected, met)
        denied = combine_with_ruling(accepted, Rejected(rejection=Rejection(message="no")), expected.bonus_policy)
        assert not denied.success
        assert cost(terms, denied).total <= cost(terms, accepted).total


def _judged(expected: SuccessCriteria, met: tuple[bool, ...]) -> VerificationResult:
    passed = CriteriaWeights.from_criteria(expected).succeeds(met)
    plain = result(*met, verdict=Verdict.PASSED if passed else Verdict.REJECTED, success=passed)
    paid = [
        each.model_copy(update={"bonus": criterion.bonus, "penalty": criterion.penalty})
        for each, criterion in zip(plain.criterion_results, expected.criteria, strict=True)
    ]
    sums = {
        "bonus": sum_earned_bonuses(paid, expected.bonus_policy, success=passed),
        "penalty": sum_incurred_penalties(paid),
        "criterion_results": tuple(paid),
    }
    return plain.model_copy(update=sums)
