from typing import Any

import pytest

from aex_models.criteria import SuccessCriteria, SuccessCriterion
from aex_models.science import Science
from aex_models.work import Budget
from aex_outcomes import lint
from tests.libs.outcomes.engine.builders import criteria, criterion, lengths

SCORE = {"metric_type": "accuracy"}


def codes(requirement: SuccessCriteria | None, **more: Any) -> list[str]:
    return [warning.code for warning in lint(requirement, **more)]


def test_a_sensible_work_has_no_warnings() -> None:
    requirement = criteria(
        criterion("rougeL", "gte", 0.4, metric_type="rouge_score", bonus="1"),
        criterion("output_length", "in_range", {"min": 10, "max": 500}),
    )
    found = lint(
        requirement, budget=Budget.model_validate({"max_cpc": 1, "max_cpa_total": 1}), evaluation={"reference": "a"}
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


def test_nothing_required_under_all() -> None:
    assert codes(criteria(criterion(required=False))) == ["nothing_required"]
    assert codes(criteria(criterion(required=False), criterion("word_count"))) == []


def test_a_success_that_is_certain() -> None:
    assert codes(lengths(5, aggregation="weighted", minimum_weighted_score=0.0)) == ["success_certain"]
    assert codes(lengths(5, aggregation="weighted", minimum_weighted_score=0.1)) == []


@pytest.mark.parametrize("gate", ["verifier", "science"])
def test_criteria_beside_a_gate_need_not_decide_anything(gate: str) -> None:
    more: dict[str, Any] = {"verified": True} if gate == "verifier" else {"science": science(**DATA)}
    assert codes(lengths(5, aggregation="weighted", minimum_weighted_score=0.0), **more) == []
    assert codes(criteria(criterion(required=False, bonus="1")), **more) == []


@pytest.mark.parametrize("verified", [False, True])
def test_what_no_candidate_can_meet_is_reported_beside_a_verifier_too(verified: bool) -> None:
    exclusive = (criterion("word_count", "gt", 4), criterion("word_count", "lt", 5))
    found = lint(criteria(*exclusive), root="/criteria_file", verified=verified)
    assert [(each.code, each.path) for each in found] == [
        ("criteria_exclude_each_other", "/criteria_file/criteria/1"),
        ("success_unreachable", "/criteria_file"),
    ]
    weighted = criteria(*exclusive, aggregation="weighted", minimum_weighted_score=0.6)
    assert codes(weighted, verified=verified) == ["criteria_exclude_each_other", "minimum_unreachable"]
    assert codes(criteria(criterion("accuracy", "gt", 1, **SCORE)), verified=verified)[0] == "never_met"


@pytest.mark.parametrize(
    ("cap", "expected"), [("0", ["bonus_unreachable"]), ("2.99", ["bonus_unreachable"]), ("3", []), (None, [])]
)
def test_a_bonus_that_the_budget_makes_unreachable(cap: str | None, expected: list[str]) -> None:
    requirement = criteria(criterion("output_length", bonus="1"), criterion("word_count", bonus="2"))
    money = Budget.model_validate({"max_cpc": 1, "max_cpa_total": cap})
    assert codes(requirement, budget=money) == expected


def test_exclusive_bonuses_are_not_added_up_against_the_cap() -> None:
    requirement = criteria(
        criterion("word_count", "gt", 4, bonus="2"), criterion("word_count", "lt", 5, bonus="2"), aggregation="any"
    )
    money = Budget.model_validate({"max_cpc": 1, "max_cpa_total": "2"})
    assert codes(requirement, budget=money) == ["criteria_exclude_each_other"]


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
    requirement = criteria(criterion("latency_ms", "lte", 5, **more), criterion("word_count"), aggregation=aggregation)
    found = [each for each in lint(requirement) if each.code == "self_reported"]
    assert [each.message.partition("itself and ")[2] for each in found] == ([message] if message else [])


def test_a_measured_metric_may_carry_money() -> None:
    assert codes(criteria(criterion("platform_latency_ms", "lte", 5, bonus="1"))) == []


def test_a_reference_in_which_rouge_sees_no_words() -> None:
    requirement = criteria(criterion("rouge1", "gte", 0.1, metric_type="rouge_score"))
    assert codes(requirement, evaluation={"reference": "日本語の文章"}) == ["reference_without_tokens"]
    assert codes(requirement, evaluation={"reference": ["日本語", "or English"]}) == []


def test_more_than_ten_criteria_are_linted_one_by_one() -> None:
    requirement = lengths(*range(11))
    assert codes(requirement, budget=Budget.model_validate({"max_cpc": 1, "max_cpa_total": 0})) == ["always_met"]


OWN_FILES = {"statistics": [{"name": "n", "stat": "count"}, {"name": "r", "stat": "pearson", "columns": ["x", "y"]}],
             "domain": "bioinformatics/DMS"}  # fmt: skip
DATA = {"data": [{"name": "own.csv", "sha256": "a" * 64}]}
TRUE = {"metric_type": "boolean"}
DERIVED = [{"column": "ratio", "expression": "x / y"}]
JOINS = [{"name": "both", "left": "own.csv", "right": "agents.csv", "on": ["key"]}]
SWAPPED = [{**JOINS[0], "left": "agents.csv", "right": "own.csv"}]
COUNTED = [{"name": "n", "stat": "count", "artifact": "both"}]
LOG = {"column": "log_ratio", "expression": "log(ratio)"}
RATIO = {"name": "mean", "stat": "mean", "column": "ratio"}


def science(**fields: Any) -> Science:
    return Science.model_validate({**OWN_FILES, **fields})


@pytest.mark.parametrize(
    "requirement",
    [
        criterion("stat.n", "gte", 5),
        criterion("values_consistent", "eq", True, **TRUE),
        criterion("value_mismatches", "lte", 0, metric_type="count"),
        criterion("claims_not_recomputed", "lte", 0, metric_type="count"),
        criterion("stat.n", "gte", 5, required=False, bonus="1"),
    ],
)
def test_success_and_money_that_rest_on_the_agents_own_files(requirement: SuccessCriterion) -> None:
    both = criteria(requirement, criterion("word_count", "gte", 3))
    found = [each for each in lint(both, science=science()) if each.code == "own_data_alone"]
    assert [each.path for each in found] == ["/success_criteria/criteria/0", "/science/data"]
    assert "PUT /v1/artifacts" in found[0].suggestion
    assert "own_data_alone" not in codes(both, science=science(**DATA))


def test_metrics_that_rest_on_no_file_are_not_warned_of() -> None:
    for each in (criterion("values_plausible", "eq", True, **TRUE), criterion("word_count", "gte", 3)):
        paths = [one.path for one in lint(criteria(each), science=science())]
        assert paths == ["/science/data"]
    aside = criteria(criterion("stat.n", "gte", 5, required=False), criterion("word_count", "gte", 3))
    assert [one.path for one in lint(aside, science=science())] == ["/science/data"]


def test_a_statistic_of_a_file_that_is_not_the_consumers_rests_on_the_agents() -> None:
    other_end = [{"name": "n", "stat": "count", "artifact": "theirs.csv"}, {"name": "m", "stat": "count"}]
    requirement = criteria(criterion("stat.n", "gte", 5), criterion("stat.m", "gte", 5))
    found = lint(requirement, science=science(statistics=other_end, **DATA))
    assert [(each.code, each.path) for each in found] == [
        ("own_data_alone", "/success_criteria/criteria/0"),
        ("own_data_alone", "/science/statistics/0/artifact"),
    ]
    assert "own.csv" in found[1].suggestion
    unread = lint(criteria(criterion("word_count", "gte", 3)), science=science(statistics=other_end, checks=[], **DATA))
    assert "own_data_alone" not in {each.code for each in unread}
    named = [{**other_end[0], "artifact": "own.csv"}, other_end[1]]
    assert codes(requirement, science=science(statistics=named, **DATA)) == []


def test_what_a_statistics_kind_rules_out_is_never_met() -> None:
    never = criteria(criterion("stat.r", "gt", 1), criterion("stat.n", "lt", 0))
    assert codes(never, science=science(**DATA))[:2] == ["never_met", "never_met"]
    always = criteria(criterion("stat.r", "gte", -1), criterion("stat.n", "gte", 0))
    assert codes(always, science=science(**DATA)) == ["always_met", "always_met"]
    assert codes(criteria(criterion("stat.r", "gt", 0.999)), science=science(**DATA)) == []


@pytest.mark.parametrize(
    ("fields", "domain", "code"),
    [
        ({"domain": None}, "law", ("nothing_in_range", "/science/domain")),
        ({"domain": None, "output_constraints": {"n": {"typical": 3}}}, None, ("nothing_in_range", "/science/domain")),
        ({"output_constraints": {"n": {"typical": 3}}}, None,
         ("unbounded_constraint", "/science/output_constraints/n")),
        ({"output_constraints": {"reads/cell": {"typical": 3}}}, None,
         ("unbounded_constraint", "/science/output_constraints/reads~1cell")),
        ({"checks": ["value_ranges"]}, None, ("unread", "/science/statistics")),
        ({"checks": ["value_ranges"]}, None, ("unread", "/science/data")),
        ({"checks": ["recompute_statistics"], "output_constraints": {"n": {"min": 1}}}, None,
         ("unread", "/science/output_constraints")),
        ({"checks": ["value_ranges"], "derived": DERIVED}, None, ("unread", "/science/derived")),
        ({"derived": DERIVED}, None, ("unread", "/science/derived/0")),
        ({"joins": JOINS}, None, ("unread", "/science/joins/0")),
        ({"checks": ["value_ranges"], "joins": JOINS}, None, ("unread", "/science/joins")),
        ({"joins": SWAPPED, "statistics": COUNTED}, None, ("columns_replaceable", "/science/joins/0/left")),
        ({"joins": [*JOINS, {**JOINS[0], "name": "all", "left": "both", "right": "own.csv"}],
          "statistics": [{**COUNTED[0], "artifact": "all"}]}, None, ("columns_replaceable", "/science/joins/1/left")),
        ({"expected_outcome": 0}, None, ("unread", "/science/expected_outcome")),
        ({"expected_outcome": 0, "checks": ["peer_review"]}, None, ("unread", "/science/expected_outcome")),
        ({"outcome_criteria": "is short"}, None, ("unread", "/science/outcome_criteria")),
        ({"strict": False}, None, ("unread", "/science/strict")),
        ({"checks": ["peer_review"]}, None, ("no_question", "/science/question")),
    ],
)  # fmt: skip
def test_science_that_is_hardly_meant(fields: dict[str, Any], domain: str | None, code: tuple[str, str]) -> None:
    found = lint(None, science=science(**{**DATA, **fields}), domain=domain)
    assert code in {(each.code, each.path) for each in found}


@pytest.mark.parametrize(
    ("fields", "domain"),
    [
        ({}, None),
        ({"domain": None}, "bioinformatics/DMS"),
        ({"domain": None, "output_constraints": {"n": {"min": 1}}}, "law"),
        ({"domain": None, "checks": ["recompute_statistics"]}, "law"),
        ({"checks": ["recompute_statistics", "peer_review"], "question": "?", "expected_outcome": 0,
          "reviewer_sees_expected": True, "strict": False, "outcome_criteria": ["is short"]}, None),
        ({"derived": [*DERIVED, LOG], "statistics": [{**RATIO, "column": "log_ratio"}]}, None),
        ({"joins": JOINS, "statistics": COUNTED}, None),
        ({"derived": DERIVED, "statistics": [], "data": [], "checks": ["no_extreme_outliers"]}, None),
    ],
)  # fmt: skip
def test_sensible_science_has_no_warnings(fields: dict[str, Any], domain: str | None) -> None:
    assert lint(None, science=science(**{**DATA, **fields}), domain=domain) == ()


def test_no_warning_quotes_what_is_expected() -> None:
    found = lint(None, science=science(expected_outcome="hush"))
    assert found
    assert "hush" not in str(found)


def test_metrics_that_may_be_counts_or_shares_are_tried_as_both() -> None:
    between = criteria(criterion("stat.total", "gt", 0.1), criterion("stat.total", "lt", 0.9))
    total = {"name": "total", "stat": "sum", "column": "x"}
    assert codes(between, science=science(statistics=[total], **DATA)) == []
    rows = criteria(criterion("stat.n", "gt", 4), criterion("stat.n", "lt", 5))
    assert "criteria_exclude_each_other" in codes(rows, science=science(**DATA))
