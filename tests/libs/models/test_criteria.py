import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.criteria import SuccessCriteria, SuccessCriterion
from aex_models.thresholds import COMPARISONS, MAX_TERM_LENGTH, MAX_TERMS, UNIT_TYPES, ComparisonOperator, MetricType

ORDERED = ["gte", "gt", "lte", "lt", "eq", "neq", "in_range"]
NUMERIC_TYPES = [t.value for t in MetricType if t not in {MetricType.BOOLEAN, MetricType.MATCHES_SCHEMA}]


def criterion(**changes: Any) -> dict[str, Any]:
    return {"metric": "m", "metric_type": "numeric", "comparison": "gte", "threshold": 1} | changes


def codes(error: ValidationError) -> dict[str, str]:
    return {".".join(map(str, each["loc"])): each["type"] for each in error.errors()}


def refusals(**changes: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        SuccessCriterion.model_validate(criterion(**changes))
    return codes(refused.value)


def accepted(**changes: Any) -> SuccessCriterion:
    return SuccessCriterion.model_validate(criterion(**changes))


def test_a_criterion_needs_only_metric_type_comparison_and_threshold() -> None:
    plain = accepted()
    assert (plain.weight, plain.required, plain.scale) == (1.0, None, None)
    assert plain.model_dump(mode="json")["bonus"] == "0.00"


@pytest.mark.parametrize("metric_type", NUMERIC_TYPES)
@pytest.mark.parametrize("comparison", ORDERED)
def test_number_types_take_the_ordered_comparisons(metric_type: str, comparison: str) -> None:
    threshold = {"min": 0, "max": 1} if comparison == "in_range" else 1
    assert accepted(metric_type=metric_type, comparison=comparison, threshold=threshold).threshold == threshold


@pytest.mark.parametrize("metric_type", ["boolean", "matches_schema"])
@pytest.mark.parametrize("comparison", [c.value for c in ComparisonOperator if c not in {"eq", "neq"}])
def test_booleans_are_only_equal_or_not(metric_type: str, comparison: str) -> None:
    assert refusals(metric_type=metric_type, comparison=comparison, threshold=True) == {
        "comparison": "invalid_comparison"
    }


@pytest.mark.parametrize("metric_type", [t.value for t in MetricType if t is not MetricType.CONTAINS])
@pytest.mark.parametrize("comparison", ["contains_all", "contains_any"])
def test_terms_are_for_contains_alone(metric_type: str, comparison: str) -> None:
    assert refusals(metric_type=metric_type, comparison=comparison, threshold=["a"]) == {
        "comparison": "invalid_comparison"
    }


def test_every_metric_type_names_its_comparisons() -> None:
    assert set(COMPARISONS) == set(MetricType)


@pytest.mark.parametrize("threshold", [True, "0.9", None, [1], {}, math.nan, math.inf, -math.inf, 2**53 + 1])
@pytest.mark.parametrize("metric_type", NUMERIC_TYPES)
def test_a_number_type_refuses_what_is_no_finite_number(metric_type: str, threshold: Any) -> None:
    assert refusals(metric_type=metric_type, threshold=threshold) == {"threshold": "invalid_threshold"}


@pytest.mark.parametrize("threshold", [1, 1.0, 0, "true", None, [True]])
@pytest.mark.parametrize("metric_type", ["boolean", "matches_schema"])
def test_a_number_is_never_a_boolean(metric_type: str, threshold: Any) -> None:
    assert refusals(metric_type=metric_type, comparison="eq", threshold=threshold) == {"threshold": "invalid_threshold"}


@pytest.mark.parametrize("metric_type", sorted(UNIT_TYPES))
@pytest.mark.parametrize("threshold", [-0.01, 1.01, 92])
def test_unit_types_stay_between_0_and_1(metric_type: str, threshold: float) -> None:
    assert refusals(metric_type=metric_type, threshold=threshold) == {"threshold": "invalid_threshold"}


@pytest.mark.parametrize(
    ("metric_type", "threshold"),
    [("percentage", -1), ("percentage", 100.5), ("latency", -1), ("count", 1.5), ("count", -1)],
)
def test_percentages_latencies_and_counts_keep_their_bounds(metric_type: str, threshold: float) -> None:
    assert refusals(metric_type=metric_type, threshold=threshold) == {"threshold": "invalid_threshold"}


@pytest.mark.parametrize(("metric_type", "threshold"), [("percentage", 100), ("latency", 0), ("count", 5.0)])
def test_the_bounds_themselves_are_taken(metric_type: str, threshold: float) -> None:
    assert accepted(metric_type=metric_type, threshold=threshold).threshold == threshold


@pytest.mark.parametrize("threshold", [{"min": 1}, {"max": 1}, {"min": 1, "max": 1}, {"min": -5, "max": 2.5}])
def test_a_range_needs_one_end_and_may_be_a_point(threshold: dict[str, float]) -> None:
    assert accepted(comparison="in_range", threshold=threshold).threshold == threshold


@pytest.mark.parametrize(
    "threshold", [{}, {"min": 2, "max": 1}, {"min": None}, {"min": True}, {"min": 0, "top": 1}, 5, {"max": math.nan}]
)
def test_a_range_without_ends_or_upside_down_is_refused(threshold: Any) -> None:
    assert refusals(comparison="in_range", threshold=threshold) == {"threshold": "invalid_threshold"}


@pytest.mark.parametrize("threshold", [["a"], ["a b", "c"], ["x" * MAX_TERM_LENGTH] * MAX_TERMS])
def test_terms_are_lists_of_text(threshold: list[str]) -> None:
    assert accepted(metric_type="contains", comparison="contains_all", threshold=threshold).threshold == threshold


@pytest.mark.parametrize(
    "threshold", [[], [""], ["  "], [1], "a", None, ["a"] * (MAX_TERMS + 1), ["x" * (MAX_TERM_LENGTH + 1)], ["\ud800"]]
)
def test_empty_blank_and_endless_terms_are_refused(threshold: Any) -> None:
    assert refusals(metric_type="contains", comparison="contains_any", threshold=threshold) == {
        "threshold": "invalid_threshold"
    }


@pytest.mark.parametrize("threshold", [True, False, {"type": "object", "properties": {"a": {"type": "string"}}}])
def test_matches_schema_takes_a_boolean_or_the_schema_itself(threshold: Any) -> None:
    assert accepted(metric_type="matches_schema", comparison="eq", threshold=threshold).threshold == threshold


@pytest.mark.parametrize("bad", [math.nan, math.inf, 2**53 + 1, "\ud800"])
def test_a_schema_threshold_holds_nothing_that_json_cannot(bad: Any) -> None:
    schema = {"type": "number", "enum": [bad]}
    assert refusals(metric_type="matches_schema", comparison="eq", threshold=schema) == {
        "threshold": "invalid_threshold"
    }


def test_a_custom_metric_takes_numbers_and_where_they_are_compared_for_equality_booleans() -> None:
    assert accepted(metric_type="custom", comparison="eq", threshold=True).threshold is True
    assert accepted(metric_type="custom", comparison="gte", threshold=3).threshold == 3
    assert refusals(metric_type="custom", comparison="gte", threshold=True) == {"threshold": "invalid_threshold"}


def test_scale_is_for_percentages_alone() -> None:
    assert accepted(metric_type="percentage", threshold=90, scale="percent").scale == "percent"
    assert refusals(metric_type="accuracy", threshold=0.9, scale="fraction") == {"scale": "invalid_scale"}


@pytest.mark.parametrize("threshold", [1.5, {"min": 0.5, "max": 90}])
def test_a_fraction_above_1_is_refused(threshold: Any) -> None:
    comparison = "in_range" if isinstance(threshold, dict) else "gte"
    refused = refusals(metric_type="percentage", comparison=comparison, threshold=threshold, scale="fraction")
    assert refused == {"scale": "invalid_threshold"}


@pytest.mark.parametrize("threshold", [None, "high", [], {"min": None}, {}])
@pytest.mark.parametrize("comparison", ["contains_all", "nonsense", None])
def test_a_threshold_that_no_comparison_was_held_against_is_no_matter_of_scale(comparison: Any, threshold: Any) -> None:
    refused = refusals(metric_type="percentage", comparison=comparison, threshold=threshold, scale="fraction")
    assert set(refused) == {"comparison"}


def test_the_refusal_of_a_threshold_names_the_metric() -> None:
    with pytest.raises(ValidationError, match=r"Invalid threshold for metric: accuracy \("):
        accepted(metric="accuracy", metric_type="accuracy", threshold=92)


def test_all_that_is_wrong_with_a_criterion_comes_at_once() -> None:
    refused = refusals(
        metric_type="accuracy", threshold=2, weight=0, required="yes", bonus="-1", penalty="1e3", scale="percent", x=1
    )
    assert refused == {
        "threshold": "invalid_threshold",
        "weight": "greater_than",
        "required": "bool_type",
        "bonus": "greater_than_equal",
        "penalty": "invalid_money",
        "scale": "invalid_scale",
        "x": "extra_forbidden",
    }


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf, True, "1", 1e10, None])
def test_a_weight_is_a_finite_number_above_0(weight: Any) -> None:
    assert set(refusals(weight=weight)) == {"weight"}


@pytest.mark.parametrize("metric", ["", "a b", "1a", "a/b", "x" * 129, "ünï", "a\n"])
def test_metric_names_are_plain(metric: str) -> None:
    assert set(refusals(metric=metric)) == {"metric"}


def criteria(**changes: Any) -> SuccessCriteria:
    return SuccessCriteria.model_validate({"criteria": [criterion()]} | changes)


def criteria_refusals(**changes: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        criteria(**changes)
    return codes(refused.value)


def test_criteria_have_defaults() -> None:
    plain = criteria()
    assert (plain.aggregation, plain.minimum_weighted_score, plain.bonus_policy) == ("all", 0.5, "on_success")


def test_a_minimum_score_of_0_is_legal() -> None:
    assert criteria(minimum_weighted_score=0.0).minimum_weighted_score == 0.0


@pytest.mark.parametrize(
    ("changes", "refused"),
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
def test_malformed_criteria_are_refused(changes: dict[str, Any], refused: dict[str, str]) -> None:
    assert criteria_refusals(**changes) == refused


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
    ],
)
def test_the_same_metric_comparison_and_threshold_twice_is_refused(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    twice = [criterion(**first), criterion(metric="other"), criterion(**second)]
    assert criteria_refusals(criteria=twice) == {"criteria": "duplicate_criterion"}


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
    ],
)
def test_criteria_that_differ_in_one_of_the_three_stand_together(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert len(criteria(criteria=[criterion(**first), criterion(**second)]).criteria) == 2


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(ORDERED[:-1]))
def test_criteria_survive_the_way_through_json(threshold: float, comparison: str) -> None:
    before = criteria(criteria=[criterion(threshold=threshold, comparison=comparison)])
    assert SuccessCriteria.model_validate_json(before.model_dump_json()) == before


@pytest.mark.parametrize("name", ["bonus", "penalty"])
def test_criteria_whose_money_sums_to_more_than_an_amount_may_be_are_refused(name: str) -> None:
    money = [criterion(threshold=each, **{name: "500000000.000001"}) for each in range(2)]
    with pytest.raises(ValidationError, match=f"{name} amounts sum to more than 1000000000"):
        SuccessCriteria.model_validate({"criteria": money})
    money[1][name] = "499999999.999999"
    assert len(SuccessCriteria.model_validate({"criteria": money}).criteria) == 2


def test_the_same_terms_make_the_same_criterion_and_other_terms_another() -> None:
    def of(*terms: list[str]) -> dict[str, Any]:
        fields = {"metric_type": "contains", "comparison": "contains_all"}
        return {"criteria": [criterion(**fields, threshold=each) for each in terms]}

    with pytest.raises(ValidationError, match="are the same"):
        SuccessCriteria.model_validate(of(["a", "b"], ["a", "b"]))
    assert len(SuccessCriteria.model_validate(of(["a", "b"], ["a"], ["ab"])).criteria) == 3


def test_a_schema_that_is_nested_without_bottom_is_refused_and_breaks_nothing() -> None:
    schema: dict[str, Any] = {}
    for _ in range(100_000):
        schema = {"properties": schema}
    refused = refusals(metric_type="matches_schema", comparison="eq", threshold=schema)
    assert refused == {"threshold": "invalid_threshold"}
