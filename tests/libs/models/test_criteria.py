import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.criteria import SuccessCriteria, SuccessCriterion
from aex_models.thresholds import COMPARISONS, MAX_TERM_LENGTH, MAX_TERMS, UNIT_TYPES, ComparisonOperator, MetricType
from tests.libs.models.refusing import refusals

ORDERED = ["gte", "gt", "lte", "lt", "eq", "neq", "in_range"]
NUMERIC_TYPES = [t.value for t in MetricType if t not in {MetricType.BOOLEAN, MetricType.MATCHES_SCHEMA}]


def criterion(**changes: Any) -> dict[str, Any]:
    return {"metric": "m", "metric_type": "numeric", "comparison": "gte", "threshold": 1} | changes


def refused(**changes: Any) -> dict[str, str]:
    return refusals(SuccessCriterion, criterion(**changes))


def accepted(**changes: Any) -> SuccessCriterion:
    return SuccessCriterion.model_validate(criterion(**changes))


def test_criterion_needs_only_metric_type_comparison_and_threshold() -> None:
    plain = accepted()
    assert (plain.weight, plain.required, plain.scale) == (1.0, None, None)
    assert plain.model_dump(mode="json")["bonus"] == "0.00"


ALL_TYPES = [each.value for each in MetricType]
NO_NUMBERS = [True, "0.9", None, [1], {}, math.nan, math.inf, -math.inf, 2**53 + 1]
BOTTOMLESS: dict[str, Any] = {}
for _ in range(20_000):
    BOTTOMLESS = {"properties": BOTTOMLESS}


@pytest.mark.parametrize(
    ("metric_types", "comparisons", "threshold"),
    [
        (["boolean", "matches_schema"], [each for each in ComparisonOperator if each not in {"eq", "neq"}], True),
        ([each for each in ALL_TYPES if each != "contains"], ["contains_all", "contains_any"], ["a"]),
    ],
)
def test_metric_type_refuses_comparisons_of_other_types(
    metric_types: list[str], comparisons: list[str], threshold: Any
) -> None:
    assert set(COMPARISONS) == set(MetricType)
    for metric_type, comparison in itertools.product(metric_types, comparisons):
        found = refused(metric_type=metric_type, comparison=comparison, threshold=threshold)
        assert found == {"comparison": "invalid_comparison"}, (metric_type, comparison)


@pytest.mark.parametrize(
    ("metric_types", "comparison", "thresholds"),
    [
        (NUMERIC_TYPES, "gte", NO_NUMBERS),
        (["boolean", "matches_schema"], "eq", [1, 1.0, 0, "true", None, [True]]),
        (sorted(UNIT_TYPES), "gte", [-0.01, 1.01, 92]),
        (["percentage"], "gte", [-1, 100.5]),
        (["latency", "count"], "gte", [-1]),
        (["count"], "gte", [1.5]),
        (["custom"], "gte", [True]),
        (["numeric"], "in_range", [{}, {"min": 2, "max": 1}, {"min": None}, {"min": True}, 5, {"max": math.nan}]),
        (["numeric"], "in_range", [{"min": 0, "top": 1}]),
        (["contains"], "contains_any", [[], [""], ["  "], [1], "a", None, ["a"] * (MAX_TERMS + 1), ["\ud800"]]),
        (["contains"], "contains_any", [["x" * (MAX_TERM_LENGTH + 1)]]),
        (["matches_schema"], "eq", [{"enum": [bad]} for bad in (math.nan, math.inf, 2**53 + 1, "\ud800")]),
        (["matches_schema"], "eq", [BOTTOMLESS]),
    ],
)
def test_threshold_that_does_not_fit_is_refused(
    metric_types: list[str], comparison: str, thresholds: list[Any]
) -> None:
    for metric_type, threshold in itertools.product(metric_types, thresholds):
        found = refused(metric_type=metric_type, comparison=comparison, threshold=threshold)
        assert found == {"threshold": "invalid_threshold"}, metric_type


@pytest.mark.parametrize(
    ("metric_types", "comparisons", "thresholds"),
    [
        (NUMERIC_TYPES, ORDERED[:-1], [0, 1]),
        (NUMERIC_TYPES, ["in_range"], [{"min": 0, "max": 1}, {"min": 1}, {"max": 1}, {"min": 1, "max": 1}]),
        (["percentage"], ["gte"], [100]),
        (["count"], ["gte"], [5.0]),
        (["numeric"], ["in_range"], [{"min": -5, "max": 2.5}]),
        (["contains"], ["contains_all"], [["a"], ["a b", "c"], ["x" * MAX_TERM_LENGTH] * MAX_TERMS]),
        (["matches_schema"], ["eq"], [True, False, {"type": "object", "properties": {"a": {"type": "string"}}}]),
        (["custom"], ["eq", "neq"], [True, 3]),
    ],
)
def test_threshold_that_fits_is_kept(metric_types: list[str], comparisons: list[str], thresholds: list[Any]) -> None:
    for metric_type, comparison, threshold in itertools.product(metric_types, comparisons, thresholds):
        assert accepted(metric_type=metric_type, comparison=comparison, threshold=threshold).threshold == threshold


def test_scale_is_only_for_percentages() -> None:
    assert accepted(metric_type="percentage", threshold=90, scale="percent").scale == "percent"
    assert refused(metric_type="accuracy", threshold=0.9, scale="fraction") == {"scale": "invalid_scale"}


@pytest.mark.parametrize(("comparison", "threshold"), [("gte", 1.5), ("in_range", {"min": 0.5, "max": 90})])
def test_fraction_above_1_is_refused(comparison: str, threshold: Any) -> None:
    found = refused(metric_type="percentage", comparison=comparison, threshold=threshold, scale="fraction")
    assert found == {"scale": "invalid_threshold"}


@pytest.mark.parametrize("comparison", ["contains_all", "nonsense", None])
def test_scale_ignores_a_threshold_without_a_valid_comparison(comparison: Any) -> None:
    thresholds: tuple[Any, ...] = (None, "high", [], {"min": None}, {})
    for threshold in thresholds:
        found = refused(metric_type="percentage", comparison=comparison, threshold=threshold, scale="fraction")
        assert set(found) == {"comparison"}


def test_refused_threshold_names_its_metric() -> None:
    with pytest.raises(ValidationError, match=r"Invalid threshold for metric: accuracy \("):
        accepted(metric="accuracy", metric_type="accuracy", threshold=92)


def test_all_problems_of_a_criterion_are_reported_at_once() -> None:
    found = refused(
        metric_type="accuracy", threshold=2, weight=0, required="yes", bonus="-1", penalty="1e3", scale="percent", x=1
    )
    assert found == {
        "threshold": "invalid_threshold",
        "weight": "greater_than",
        "required": "bool_type",
        "bonus": "greater_than_equal",
        "penalty": "invalid_money",
        "scale": "invalid_scale",
        "x": "extra_forbidden",
    }


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("weight", [0, -1, math.nan, math.inf, True, "1", 1e10, None]),
        ("metric", ["", "a b", "1a", "a/b", "x" * 129, "ünï", "a\n"]),
    ],
)
def test_weight_is_a_finite_number_above_0_and_metric_names_are_plain(name: str, values: list[Any]) -> None:
    for value in values:
        assert set(refused(**{name: value})) == {name}


def criteria(**changes: Any) -> SuccessCriteria:
    return SuccessCriteria.model_validate({"criteria": [criterion()]} | changes)


def test_criteria_have_defaults_and_a_minimum_score_of_0_is_legal() -> None:
    plain = criteria()
    assert (plain.aggregation, plain.minimum_weighted_score, plain.bonus_policy) == ("all", 0.5, "on_success")
    assert criteria(minimum_weighted_score=0.0).minimum_weighted_score == 0.0


def test_null_is_an_absent_bonus_penalty_and_minimum_score() -> None:
    explicit = criteria(criteria=[criterion(bonus=None, penalty=None)], minimum_weighted_score=None)
    assert explicit == criteria()
    assert explicit.model_dump(mode="json") == criteria().model_dump(mode="json")
    assert (
        SuccessCriteria.model_validate_json(
            '{"criteria": [], "minimum_weighted_score": null}'.replace(
                "[]", '[{"metric": "m", "metric_type": "count", "comparison": "gte", "threshold": 1, "bonus": null}]'
            )
        )
        .criteria[0]
        .bonus
        == 0
    )


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"criteria": []}, {"criteria": "too_short"}),
        ({"aggregation": "most"}, {"aggregation": "enum"}),
        ({"minimum_weighted_score": math.nan}, {"minimum_weighted_score": "finite_number"}),
        ({"minimum_weighted_score": 1.1}, {"minimum_weighted_score": "less_than_equal"}),
        ({"minimum_weighted_score": True}, {"minimum_weighted_score": "invalid_minimum"}),
        ({"minimum_weighted_score": "0.5"}, {"minimum_weighted_score": "invalid_minimum"}),
        ({"bonus_policy": "never"}, {"bonus_policy": "enum"}),
        ({"unknown": 1}, {"unknown": "extra_forbidden"}),
    ],
)
def test_malformed_criteria_are_refused(changes: dict[str, Any], problems: dict[str, str]) -> None:
    assert refusals(SuccessCriteria, {"criteria": [criterion()]} | changes) == problems


TERMS = {"metric_type": "contains", "comparison": "contains_all"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"threshold": 1}, {"threshold": 1.0}),
        ({"threshold": 0.0}, {"threshold": -0.0}),
        ({"threshold": 1, "weight": 2, "bonus": "5"}, {"threshold": 1}),
        (
            {"comparison": "in_range", "threshold": {"min": 0, "max": 1}},
            {"comparison": "in_range", "threshold": {"max": 1.0, "min": 0}},
        ),
        (TERMS | {"threshold": ["a", "b"]}, TERMS | {"threshold": ["a", "b"]}),
    ],
)
def test_duplicate_criterion_is_refused(first: dict[str, Any], second: dict[str, Any]) -> None:
    twice = [criterion(**first), criterion(metric="other"), criterion(**second)]
    assert refusals(SuccessCriteria, {"criteria": twice}) == {"criteria": "duplicate_criterion"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"threshold": 1}, {"threshold": 2}),
        ({"threshold": 1}, {"threshold": 1, "comparison": "gt"}),
        ({"threshold": 1}, {"threshold": 1, "metric": "other"}),
        (
            {"metric_type": "custom", "comparison": "eq", "threshold": 1},
            {"metric_type": "custom", "comparison": "eq", "threshold": True},
        ),
        (TERMS | {"threshold": ["a", "b"]}, TERMS | {"threshold": ["ab"]}),
    ],
)
def test_criteria_with_one_difference_are_accepted(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert len(criteria(criteria=[criterion(**first), criterion(**second)]).criteria) == 2


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(ORDERED[:-1]))
def test_criteria_survive_json(threshold: float, comparison: str) -> None:
    before = criteria(criteria=[criterion(threshold=threshold, comparison=comparison)])
    assert SuccessCriteria.model_validate_json(before.model_dump_json()) == before


@pytest.mark.parametrize("name", ["bonus", "penalty"])
def test_money_sums_above_the_largest_amount_are_refused(name: str) -> None:
    money = [criterion(threshold=each, **{name: "500000000.000001"}) for each in range(2)]
    with pytest.raises(ValidationError, match=f"{name} amounts sum to more than 1000000000"):
        SuccessCriteria.model_validate({"criteria": money})
    money[1][name] = "499999999.999999"
    assert len(SuccessCriteria.model_validate({"criteria": money}).criteria) == 2
