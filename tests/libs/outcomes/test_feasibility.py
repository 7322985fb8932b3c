from collections.abc import Mapping
from typing import Any

import pytest

from aex_models.criteria import SuccessCriterion
from aex_outcomes import Catalog
from aex_outcomes.evaluation_counts import count_evaluation_items
from aex_outcomes.feasibility import enumerate_feasible_combinations, group_dependent_criteria
from tests.libs.outcomes.engine.builders import criterion

CATALOG = Catalog.of()


def reached(*listed: SuccessCriterion, evaluation: Mapping[str, Any] | None = None) -> set[str]:
    """Each combination as a word of + and −."""
    found = enumerate_feasible_combinations(
        group_dependent_criteria(listed, CATALOG, count_evaluation_items(listed, evaluation or {})), len(listed)
    )
    return {"".join("+" if met else "-" for met in each) for each in found}


def score(comparison: str, threshold: Any, metric: str = "accuracy", metric_type: str = "accuracy") -> SuccessCriterion:
    return criterion(metric, comparison, threshold, metric_type=metric_type)


def terms(comparison: str, *listed: str) -> SuccessCriterion:
    return criterion("contains_keywords", comparison, list(listed), metric_type="contains")


def numeric(metric: str, comparison: str, threshold: Any) -> SuccessCriterion:
    return criterion(metric, comparison, threshold)


def flag(metric: str, comparison: str = "eq", *, threshold: bool = True) -> SuccessCriterion:
    return criterion(metric, comparison, threshold, metric_type="boolean")


def count(metric: str, comparison: str, threshold: int) -> SuccessCriterion:
    return criterion(metric, comparison, threshold, metric_type="count")


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([score("gte", 0.9), score("gte", 0.5)], {"++", "-+", "--"}),
        ([score("gte", 0.9), score("lt", 0.9)], {"+-", "-+", "--"}),
        ([score("gte", 0.9), score("lte", 0.9)], {"++", "+-", "-+", "--"}),
        ([score("gt", 0.9), score("lt", 0.9)], {"+-", "-+", "--"}),
        ([score("eq", 0.5), score("neq", 0.5)], {"+-", "-+", "--"}),
        ([score("eq", 0.5), score("eq", 0.50015)], {"++", "+-", "-+", "--"}),
        ([score("eq", 0.5), score("eq", 0.6)], {"+-", "-+", "--"}),
        ([score("gte", 0.0)], {"+", "-"}),
        ([score("gt", 1)], {"-"}),
        ([score("in_range", {"min": 0.2, "max": 0.4}), score("in_range", {"min": 0.4})], {"++", "+-", "-+", "--"}),
        ([score("gte", 0.9, metric_type="percentage"), score("lt", 90, metric_type="percentage")], {"+-", "-+", "--"}),
        ([score("gte", 92, metric_type="numeric")], {"-"}),
        ([score("gte", 0.9), score("lt", 0.9, metric="recall")], {"+-", "-+", "--"}),
        ([score("gte", 0.9), score("lt", 0.9, metric="micro_f1", metric_type="numeric")], {"+-", "-+", "--"}),
        ([score("gte", 0.9), score("lt", 0.9, metric="precision")], {"++", "+-", "-+", "--"}),
        ([numeric("mrr", "gte", 0.9), numeric("precision_at_k", "gte", 0.9)], {"++", "+-", "-+", "--"}),
        ([criterion("word_count", "gt", 4), criterion("word_count", "lt", 5)], {"+-", "-+", "--"}),
        ([criterion("latency_ms", "gt", 4), criterion("latency_ms", "lt", 5)], {"++", "+-", "-+", "--"}),
        ([flag("values_plausible"), flag("values_consistent")], {"++", "+-", "-+", "--"}),
        ([flag("values_plausible"), flag("values_plausible", "neq")], {"+-", "-+", "--"}),
        ([count("value_mismatches", "lte", 0), count("value_mismatches", "gt", 0)], {"+-", "-+", "--"}),
        ([count("domain_violations", "gt", 1), count("domain_violations", "lt", 2)], {"+-", "-+", "--"}),
        ([count("claims_not_recomputed", "gte", 0)], {"+", "-"}),
        ([criterion("scientific_validity", "gt", 1)], {"-"}),
        ([criterion("stat.x", "gt", 4), criterion("stat.x", "lt", 5)], {"++", "+-", "-+", "--"}),
        ([count("stat.x", "gt", 4), count("stat.x", "lt", 5)], {"+-", "-+", "--"}),
        ([count("stat.x", "gt", 4), count("stat.x", "lt", 7)], {"++", "+-", "-+", "--"}),
        ([count("stat.x", "gt", 4), criterion("stat.x", "gte", 5)], {"++", "-+", "--"}),
        ([criterion("stat.x", "gt", 0), criterion("stat.y", "lt", 0)], {"++", "+-", "-+", "--"}),
        ([criterion("latency_ms", "lt", 0)], {"-"}),
        ([criterion("platform_latency_ms", "gte", 0)], {"+"}),
        ([criterion("custom.a", "gte", 0.5), criterion("custom.a", "lt", 0.6)], {"++", "+-", "-+"}),
        ([criterion("custom.a", "gte", 0.5), criterion("custom.b", "lt", 0.5)], {"++", "+-", "-+", "--"}),
        ([criterion("custom.a", "gte", 0.5), criterion("custom.a.k", "lt", 0.5)], {"++", "+-", "-+", "--"}),
        ([criterion("custom.a", "gt", 3, metric_type="count"), criterion("custom.a", "lt", 4)], {"+-", "-+"}),
        ([criterion("custom.a", "gt", 3, metric_type="count"), criterion("custom.a", "lt", 6)], {"++", "+-", "-+"}),
        ([criterion("custom.a", "gte", 0, metric_type="latency")], {"+"}),
        ([criterion("custom.a", "lt", -1)], {"+", "-"}),
        ([criterion("custom.a", "gte", 90, metric_type="percentage", scale="percent")], {"+", "-"}),
        ([criterion("custom.a", "gte", 90, metric_type="percentage")], {"+", "-"}),
        ([criterion("custom.a", "gt", 100, metric_type="percentage")], {"-"}),
        ([criterion("custom.a", "in_range", {"min": 0.5, "max": 99}, metric_type="percentage")], {"+", "-"}),
        ([score("gte", 90, "custom.a", "percentage"), score("gte", 50, "custom.a", "percentage")], {"++", "-+", "--"}),
        # the same value cannot be 90 percent of the one and a fraction of the other
        ([score("gte", 90, "custom.a", "percentage"), score("gte", 0.5, "custom.a", "percentage")], {"-+", "--"}),
        ([criterion("custom.a", "eq", True, metric_type="boolean")], {"+", "-"}),
        ([criterion("custom.a", "eq", True, metric_type="boolean"), criterion("custom.a", "gte", 1)], set()),
        ([flag("matches_pattern"), flag("matches_pattern", threshold=False)], {"+-", "-+", "--"}),
        ([flag("has_required_fields"), score("gte", 0.5, "has_required_fields")], {"++", "-+", "--"}),
        ([flag("has_required_fields", threshold=False), score("gte", 1, "has_required_fields")], {"+-", "-+", "--"}),
    ],
)  # fmt: skip
def test_criteria_on_one_metric_share_its_value(listed: list[SuccessCriterion], expected: set[str]) -> None:
    assert reached(*listed) == expected


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([terms("contains_all", "a", "b"), terms("contains_any", "a")], {"++", "-+", "--"}),
        ([terms("contains_all", "a", "b"), terms("contains_all", "A")], {"++", "-+", "--"}),
        ([terms("contains_any", "a", "b"), terms("contains_any", "b")], {"++", "+-", "--"}),
        ([terms("contains_all", "a"), terms("contains_any", "b")], {"++", "+-", "-+", "--"}),
        (
            [terms("contains_all", "a"), terms("contains_any", "a", "b"), terms("contains_all", "b")],
            {"+++", "++-", "-++", "---"},
        ),
    ],
)
def test_terms_of_thresholds_share_one_text(listed: list[SuccessCriterion], expected: set[str]) -> None:
    assert reached(*listed) == expected


def test_shares_are_fractions_of_the_items_where_these_are_known() -> None:
    between = score("in_range", {"min": 0.91, "max": 0.94})
    assert reached(between) == {"+", "-"}
    assert reached(between, evaluation={"ground_truth": ["a"] * 10}) == {"-"}
    assert reached(between, evaluation={"ground_truth": ["a"] * 13}) == {"+", "-"}
    some = criterion("contains_keywords", "in_range", {"min": 0.1, "max": 0.9}, metric_type="contains")
    assert reached(some, evaluation={"required_keywords": ["a", "A "]}) == {"-"}
    assert reached(some, evaluation={"required_keywords": ["a", "b"]}) == {"+", "-"}
    fields = score("in_range", {"min": 0.1, "max": 0.9}, "has_required_fields", "percentage")
    assert reached(fields, evaluation={"required_fields": ["a", "a"]}) == {"-"}
    assert reached(fields, evaluation={"required_fields": ["a", "b"]}) == {"+", "-"}


def test_schemas_of_thresholds_are_independent() -> None:
    listed = [
        criterion("matches_schema", "eq", {"type": kind}, metric_type="matches_schema") for kind in ("object", "array")
    ]
    assert len(reached(*listed)) == 4


def test_many_criteria_with_terms_do_not_explode() -> None:
    found = group_dependent_criteria([terms("contains_all", f"t{number}") for number in range(40)], CATALOG)
    assert sum(len(group.positions) for group in found) == 40


def test_precision_and_recall_of_the_top_items_are_bounded_by_the_relevant_items() -> None:
    ranking = {"relevance": {"a": 1, "b": 2, "c": 5, "d": 0}}
    assert reached(numeric("precision_at_k", "gte", 0.3), evaluation={"ranking": ranking}) == {"+", "-"}
    assert reached(numeric("precision_at_k", "gt", 0.3), evaluation={"ranking": ranking}) == {"-"}
    assert reached(numeric("precision_at_k", "gt", 0.3)) == {"+", "-"}
    between = numeric("precision_at_k", "in_range", {"min": 0.11, "max": 0.19})
    assert reached(between, evaluation={"ranking": ranking}) == {"-"}
    assert reached(numeric("recall_at_k", "gt", 0.7), evaluation={"ranking": {**ranking, "k": 2}}) == {"-"}
    assert reached(numeric("recall_at_k", "gte", 0.6), evaluation={"ranking": {**ranking, "k": 2}}) == {"+", "-"}
