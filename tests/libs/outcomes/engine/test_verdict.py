from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.numbers import JsonFloat
from aex_outcomes.engine.verdict import CriteriaWeights
from tests.libs.outcomes.engine.builders import criteria, criterion


def scale(*required: bool | None, weights: tuple[Any, ...] = (), **more: Any) -> CriteriaWeights:
    given_weights = weights or (1,) * len(required)
    return CriteriaWeights.from_criteria(
        criteria(
            *(
                criterion(threshold=position, required=each, weight=weight)
                for position, (each, weight) in enumerate(zip(required, given_weights, strict=True))
            ),
            **more,
        )
    )


@pytest.mark.parametrize(
    ("aggregation", "required", "met", "success"),
    [
        ("all", (None, None), (True, True), True),
        ("all", (None, None), (True, False), False),
        ("all", (None, False), (True, False), True),
        ("all", (False, False), (False, False), True),
        ("any", (None, None), (False, True), True),
        ("any", (None, None), (False, False), False),
        ("any", (True, None), (False, True), False),
        ("any", (True, None), (True, False), True),
        ("weighted", (None, None), (True, False), True),
        ("weighted", (None, None), (False, False), False),
        ("weighted", (True, None), (False, True), False),
        ("weighted", (False, False), (True, True), True),
    ],
)
def test_required_gates_every_aggregation(
    aggregation: str, required: tuple[bool | None, ...], met: tuple[bool, ...], success: bool
) -> None:
    assert scale(*required, aggregation=aggregation).succeeds(met) is success


@pytest.mark.parametrize(
    ("weights", "minimum", "met", "success"),
    [
        ((0.7, 0.1, 0.2), 0.8, (True, True, False), True),
        ((0.1, 0.2, 0.7), 0.3, (True, True, False), True),
        ((1, 1, 1), 0.34, (True, False, False), False),
        ((1, 1, 1), 0.0, (False, False, False), True),
        ((3, 1), 0.75, (True, False), True),
        ((3, 1), 0.75001, (True, False), False),
        ((JsonFloat("0.70"), JsonFloat("0.30")), 0.7, (True, False), True),
    ],
)
def test_the_minimum_is_compared_exactly_and_0_is_respected(
    weights: tuple[Any, ...], minimum: float, met: tuple[bool, ...], success: bool
) -> None:
    tried = scale(*[None] * len(weights), weights=weights, aggregation="weighted", minimum_weighted_score=minimum)
    assert tried.succeeds(met) is success


@given(st.lists(st.tuples(st.integers(1, 10**9), st.booleans()), min_size=1, max_size=6))
def test_the_share_is_that_of_exact_rationals(pairs: list[tuple[int, bool]]) -> None:
    weights = tuple(weight / 1000 for weight, _ in pairs)
    expected = Fraction(sum(weight for weight, met in pairs if met), sum(weight for weight, _ in pairs))
    assert scale(*[None] * len(pairs), weights=weights).met_weight_share([met for _, met in pairs]) == expected
