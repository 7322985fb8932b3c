"""What the linter warns of, and what it leaves alone."""

from typing import Any

import pytest

from aex_models.criteria import SuccessCriteria
from aex_models.work import Budget
from aex_outcomes import lint
from tests.libs.outcomes.engine.builders import criteria, criterion, lengths

SCORE = {"metric_type": "accuracy"}


def codes(wanted: SuccessCriteria | None, **more: Any) -> list[str]:
    return [warning.code for warning in lint(wanted, **more)]


def test_a_sensible_work_has_no_warnings() -> None:
    wanted = criteria(
        criterion("rougeL", "gte", 0.4, metric_type="rouge_score", bonus="1"),
        criterion("output_length", "in_range", {"min": 10, "max": 500}),
    )
    found = lint(
        wanted, budget=Budget.model_validate({"max_cpc": 1, "max_cpa_total": 1}), evaluation={"reference": "a"}
    )
    assert found == ()
    assert codes(None) == []


@pytest.mark.parametrize(
    ("metric", "comparison", "threshold", "more", "code"),
    [
        ("accuracy", "gte", 0, SCORE, "always_met"),
        ("accuracy", "lte", 1, SCORE, "always_met"),
        ("accuracy", "in_range", {"min": 0, "max": 1}, SCORE, "always_met"),
        ("accuracy", "gt", 1, SCORE, "never_met"),
        ("accuracy", "gte", 92, {}, "never_met"),
        ("accuracy", "lt", 0, SCORE, "never_met"),
        ("word_count", "lt", 0, {}, "never_met"),
        ("word_count", "gte", 0, {"metric_type": "count"}, "always_met"),
        ("word_count", "eq", 2.5, {}, "never_met"),
    ],
)
def test_criteria_that_every_value_meets_or_none(
    metric: str, comparison: str, threshold: Any, more: dict[str, Any], code: str
) -> None:
    found = lint(criteria(criterion(metric, comparison, threshold, **more)))
    assert (found[0].code, found[0].path) == (code, "/success_criteria/criteria/0")
    assert metric in found[0].message


@pytest.mark.parametrize("threshold", [0.001, 0.999])
def test_criteria_that_some_values_meet_are_left_alone(threshold: float) -> None:
    for comparison in ("gte", "gt", "lt", "lte", "eq", "neq"):
        assert codes(criteria(criterion("accuracy", comparison, threshold, **SCORE))) == []


def test_two_criteria_that_exclude_each_other() -> None:
    wanted = criteria(criterion("word_count", "gt", 4), criterion("word_count", "lt", 5))
    found = lint(wanted, root="/criteria_file")
    assert [(each.code, each.path) for each in found] == [
        ("criteria_exclude_each_other", "/criteria_file/criteria/1"),
        ("success_unreachable", "/criteria_file"),
    ]


def test_nothing_required_under_all() -> None:
    assert codes(criteria(criterion(required=False))) == ["nothing_required"]
    assert codes(criteria(criterion(required=False), criterion("word_count"))) == []


def test_a_minimum_that_no_subset_reaches() -> None:
    wanted = criteria(
        criterion("word_count", "gt", 4),
        criterion("word_count", "lt", 5),
        aggregation="weighted",
        minimum_weighted_score=0.6,
    )
    assert codes(wanted) == ["criteria_exclude_each_other", "minimum_unreachable"]


def test_a_success_that_is_certain() -> None:
    assert codes(lengths(5, aggregation="weighted", minimum_weighted_score=0.0)) == ["success_certain"]
    assert codes(lengths(5, aggregation="weighted", minimum_weighted_score=0.1)) == []


def test_beside_a_verifier_criteria_need_not_decide_anything() -> None:
    certain = lengths(5, aggregation="weighted", minimum_weighted_score=0.0)
    assert codes(certain, verified=True) == []
    assert codes(criteria(criterion(required=False, bonus="1")), verified=True) == []


def test_what_no_candidate_can_meet_is_told_beside_a_verifier_too() -> None:
    exclusive = (criterion("word_count", "gt", 4), criterion("word_count", "lt", 5))
    expected = ["criteria_exclude_each_other", "success_unreachable"]
    assert codes(criteria(*exclusive), verified=True) == expected
    weighted = criteria(*exclusive, aggregation="weighted", minimum_weighted_score=0.6)
    assert codes(weighted, verified=True) == ["criteria_exclude_each_other", "minimum_unreachable"]
    assert codes(criteria(criterion("accuracy", "gt", 1, **SCORE)), verified=True)[0] == "never_met"


@pytest.mark.parametrize(
    ("cap", "expected"), [("0", ["bonus_unreachable"]), ("2.99", ["bonus_unreachable"]), ("3", []), (None, [])]
)
def test_a_bonus_that_the_budget_makes_unreachable(cap: str | None, expected: list[str]) -> None:
    wanted = criteria(criterion("output_length", bonus="1"), criterion("word_count", bonus="2"))
    money = Budget.model_validate({"max_cpc": 1, "max_cpa_total": cap})
    assert codes(wanted, budget=money) == expected


def test_exclusive_bonuses_are_not_added_up_against_the_cap() -> None:
    wanted = criteria(
        criterion("word_count", "gt", 4, bonus="2"), criterion("word_count", "lt", 5, bonus="2"), aggregation="any"
    )
    money = Budget.model_validate({"max_cpc": 1, "max_cpa_total": "2"})
    assert codes(wanted, budget=money) == ["criteria_exclude_each_other"]


@pytest.mark.parametrize(
    ("more", "aggregation", "message"),
    [
        ({"bonus": "1"}, "all", "carries money and decides success"),
        ({"required": False, "penalty": "1"}, "all", "carries money"),
        ({}, "all", "decides success"),
        ({}, "any", "decides success"),
        ({"required": False}, "all", None),
    ],
)
def test_self_reported_metrics_that_matter(more: dict[str, Any], aggregation: str, message: str | None) -> None:
    wanted = criteria(criterion("latency_ms", "lte", 5, **more), criterion("word_count"), aggregation=aggregation)
    found = [each for each in lint(wanted) if each.code == "self_reported"]
    assert [each.message.partition("itself and ")[2] for each in found] == ([message] if message else [])


def test_a_measured_metric_may_carry_money() -> None:
    assert codes(criteria(criterion("platform_latency_ms", "lte", 5, bonus="1"))) == []


def test_a_reference_in_which_rouge_sees_no_words() -> None:
    wanted = criteria(criterion("rouge1", "gte", 0.1, metric_type="rouge_score"))
    assert codes(wanted, evaluation={"reference": "日本語の文章"}) == ["reference_without_tokens"]
    assert codes(wanted, evaluation={"reference": ["日本語", "or English"]}) == []


def test_more_than_ten_criteria_are_linted_one_by_one() -> None:
    wanted = lengths(*range(11))
    assert codes(wanted, budget=Budget.model_validate({"max_cpc": 1, "max_cpa_total": 0})) == ["always_met"]
