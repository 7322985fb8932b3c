from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_cli.importing.checks import Check, CheckGroup, Item, NotTranslatable
from aex_cli.importing.weighting import compute_weighting
from aex_models.criteria import SuccessCriteria
from aex_outcomes.engine.verdict import CriteriaWeights

WEIGHTS = st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 3.0, 0.33])
MINIMA = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 1.0])


def check(weight: float = 1.0) -> Check:
    return Check("a", "matches_pattern", "boolean", "eq", True, {"pattern": "a"}, weight=weight)


SETS = st.builds(
    lambda weights, minimum, weight: CheckGroup(tuple(map(check, weights)), minimum, weight),
    st.lists(WEIGHTS, min_size=1, max_size=3),
    st.none() | MINIMA,
    WEIGHTS,
)
GROUPS = st.builds(
    lambda items, minimum: CheckGroup(tuple(items), minimum),
    st.lists(WEIGHTS.map(check) | SETS, min_size=1, max_size=3),
    st.none() | MINIMA,
)


def original(item: Item, met: list[bool]) -> tuple[bool, float]:
    """Return what another tool decides, and its score."""
    if isinstance(item, Check):
        is_met = met.pop(0)
        return is_met, float(is_met)
    found = [original(each, met) for each in item.items]
    score = sum(score * each.weight for (_, score), each in zip(found, item.items, strict=True))
    score = score / sum(each.weight for each in item.items)
    return (all(ok for ok, _ in found) if item.minimum is None else score >= item.minimum), score


def engine_decides(group: CheckGroup, met: tuple[bool, ...]) -> bool:
    weighting = compute_weighting(group, 10)
    rows: list[dict[str, Any]] = [
        {
            "metric": f"matches_pattern.n{index}", "metric_type": "boolean", "comparison": "eq", "threshold": True,
            "weight": weight, "required": required if weighting.minimum is not None else None,
        }
        for index, (weight, required) in enumerate(zip(weighting.weights, weighting.required, strict=True))
    ]  # fmt: skip
    combined: dict[str, Any] = {"criteria": rows}
    if weighting.minimum is not None:
        combined |= {"aggregation": "weighted", "minimum_weighted_score": weighting.minimum}
    return CriteriaWeights.from_criteria(SuccessCriteria.model_validate(combined)).succeeds(met)


@given(group=GROUPS)
def test_every_combination_decides_as_in_the_other_tool_or_nothing_is_translated(group: CheckGroup) -> None:
    count = len(list(group.checks()))
    with suppress(NotTranslatable):
        compute_weighting(group, 10)
        compare_all(group, count)


def compare_all(group: CheckGroup, count: int) -> None:
    for met in product((False, True), repeat=count):
        assert engine_decides(group, met) == original(group, list(met))[0]


def test_all_are_required_without_a_threshold() -> None:
    weighting = compute_weighting(CheckGroup((check(2), check())), 10)
    assert (weighting.weights, weighting.required, weighting.minimum) == ((2, 1), (True, True), None)


def test_a_threshold_is_kept_where_it_gives_the_same_verdicts() -> None:
    assert compute_weighting(CheckGroup((check(3), check(1)), 0.6), 10).minimum == 0.6


def test_a_set_with_a_threshold_may_stand_beside_required_checks() -> None:
    weighting = compute_weighting(CheckGroup((check(), CheckGroup((check(), check()), 0.5))), 10)
    assert weighting.required == (True, False, False)
    assert weighting.minimum == 0.6


def test_weights_without_finite_decimals_become_integers() -> None:
    assert compute_weighting(CheckGroup((CheckGroup((check(), check(), check())), check())), 10).weights == (1, 1, 1, 3)


def test_two_thresholds_in_one_test_are_not_translated() -> None:
    with pytest.raises(NotTranslatable, match="threshold"):
        compute_weighting(CheckGroup((CheckGroup((check(),), 0.5), CheckGroup((check(),), 0.5))), 10)


def test_rounded_sums_at_the_threshold_are_not_translated() -> None:
    # 0.7 + 0.1 is 0.7999999999999999 in floating-point numbers, and the other 0.8 is 0.8.
    group = CheckGroup((check(0.7), check(0.1), check(0.8), check(0.0001)), 0.8 / 1.6001)
    with pytest.raises(NotTranslatable, match="rounded"):
        compute_weighting(group, 10)


def test_more_criteria_than_allowed_are_not_translated() -> None:
    with pytest.raises(NotTranslatable) as raised:
        compute_weighting(CheckGroup((check(),) * 11), 10)
    assert raised.value.kind == "too_many_criteria"
