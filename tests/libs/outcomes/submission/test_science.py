import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.science import Science
from aex_outcomes import Catalog
from aex_outcomes.config import parse_config
from aex_outcomes.submission import Checked, check_submission
from tests.libs.outcomes.submission.test_check import ANYTHING

CATALOG = Catalog.of()
WITHOUT = Catalog.of(parse_config({"extractors": {"science": {"enabled": False}, "statistics": {"enabled": False}}}))
DIGEST = "a" * 64
MEAN = {"name": "mean_fitness", "stat": "mean", "column": "mut_score"}
SOUND: dict[str, Any] = {
    "question": "What is the mean fitness?",
    "domain": "bioinformatics/DMS",
    "expected_outcome": "hush",
    "statistics": [MEAN, {"name": "n", "stat": "count"}],
    "data": [{"name": "scores.csv", "sha256": DIGEST}],
}
REVIEWED = {"checks": ["value_ranges", "recompute_statistics", "peer_review"]}


def criterion(metric: str, metric_type: str = "boolean", threshold: Any = True, **more: Any) -> dict[str, Any]:
    comparison = "eq" if threshold is True else "gte"
    return {"metric": metric, "metric_type": metric_type, "comparison": comparison, "threshold": threshold, **more}


def work(*criteria: dict[str, Any], science: Any = None, **more: Any) -> dict[str, Any]:
    judged = {"success_criteria": {"criteria": list(criteria)}} if criteria else {}
    return {"title": "Fitness", "budget": {"max_cpc": "1"}, "science": science, **judged, **more}


def checked(body: Any, catalog: Catalog = CATALOG, **more: Any) -> Checked:
    answer = check_submission(body, catalog, **more)
    assert "hush" not in str([each.message for each in answer.problems])
    return answer


def found(body: Any, catalog: Catalog = CATALOG, **more: Any) -> set[tuple[str, str]]:
    return {(each.path, each.code) for each in checked(body, catalog, **more).problems}


def message(body: Any, **more: Any) -> str:
    [problem] = checked(body, **more).problems
    return problem.message


def test_science_is_accepted_with_and_without_criteria() -> None:
    for body in (work(science=SOUND), work(criterion("values_consistent"), science=SOUND)):
        answer = checked(body)
        assert answer.submission is not None
        assert answer.submission.science == Science.model_validate(SOUND)


def test_without_its_extractor_there_is_no_science_here() -> None:
    assert found(work(science=SOUND), WITHOUT) == {("/science", "science_unavailable")}
    pointer = "/success_criteria/criteria/0/metric"
    for metric in ("values_plausible", "stat.mean_fitness"):
        assert found(work(criterion(metric)), WITHOUT) == {(pointer, "science_unavailable")}


def test_unknown_domain_is_reported_with_known_ones() -> None:
    body = work(science={**SOUND, "domain": "bioinformatics/dms"})
    assert found(body) == {("/science/domain", "unknown_domain")}
    assert "bioinformatics/DMS, bioinformatics/RNAseq" in message(body)
    assert found(work(science={**SOUND, "domain": "genomics/RNAseq"})) == set()


def test_a_work_may_be_of_a_domain_that_the_registry_does_not_know() -> None:
    assert found(work(science={"question": "?"}, domain="law/contracts")) == set()


@pytest.mark.parametrize(
    ("science", "domain", "problems"),
    [
        ({"checks": ["no_extreme_outliers"], "domain": "bioinformatics/DMS"}, "general", set()),
        ({"checks": ["no_extreme_outliers"]}, "bioinformatics/DMS", set()),
        ({"checks": ["no_extreme_outliers"]}, "general", {("/science/checks/0", "domain_missing")}),
        ({"checks": ["value_ranges", "no_extreme_outliers"], "domain": "molecular-dynamics"}, "bioinformatics/DMS",
         {("/science/checks/1", "unknown_check")}),
        ({"checks": ["peer-review"]}, "general", {("/science/checks/0", "unknown_check")}),
        ({"checks": []}, "general", {("/science/checks", "nothing_to_check")}),
        ({"checks": ["recompute_statistics", "mixed_groups"]}, "general", set()),
        ({"checks": ["internal_consistency"]}, "general", set()),
        ({"checks": ["value_ranges", "mixed_groups"]}, "general", {("/science/checks/1", "check_missing")}),
        ({"checks": ["peer_review"]}, "general", {("/science/checks/0", "reviewer_unavailable")}),
    ],
)  # fmt: skip
def test_checks_are_the_known_ones_and_the_sanity_checks_of_the_domain(
    science: dict[str, Any], domain: str, problems: set[tuple[str, str]]
) -> None:
    assert found(work(science=science, domain=domain)) == problems


def test_unknown_check_is_reported_with_known_ones() -> None:
    of_domain = message(work(science={"checks": ["hush"], "domain": "bioinformatics/DMS"}))
    assert of_domain.endswith("mixed_groups, internal_consistency, fitness_mean_near_zero, no_extreme_outliers")
    without = message(work(science={"checks": ["no_extreme_outliers"]}))
    assert without == "no_extreme_outliers is a sanity check of bioinformatics/DMS: set science.domain"


@pytest.mark.parametrize("secret", [{"data": SOUND["data"]}, {"reviewer_sees_expected": True}])
def test_review_of_secrets_is_shared_at_full_alone(secret: dict[str, Any]) -> None:
    plain = {"question": "?", "share_review": "issues", "statistics": [MEAN], **REVIEWED}
    assert found(work(science=plain), has_reviewer=True) == set()
    leak = {("/science/share_review", "review_would_leak")}
    for policy in ({}, {"verification": {"feedback": "none"}}, {"verification": {"feedback": "criteria"}}):
        assert found(work(science={**plain, **secret}, **policy), has_reviewer=True) == leak
    assert found(work(science={**plain, **secret}, verification={"feedback": "full"}), has_reviewer=True) == set()
    assert found(work(science={**plain, **secret, "share_review": "none"}), has_reviewer=True) == set()


def test_shared_review_needs_a_review_to_be_read() -> None:
    answer = checked(work(science={"share_review": "issues", "output_constraints": {"x": {"min": 0}}}))
    assert ("unread", "/science/share_review") in [(each.code, each.path) for each in answer.warnings]


READERS = ("answers_question", "reasoning_sound", "scientific_validity", "review_confidence")


@pytest.mark.parametrize("metric", READERS)
def test_review_metric_needs_reviewer_and_check(metric: str) -> None:
    boolean = metric in READERS[:2]
    expected = criterion(metric) if boolean else criterion(metric, "numeric", 0.5)
    pointer = "/success_criteria/criteria/0/metric"
    assert found(work(expected, science={**SOUND, **REVIEWED}), has_reviewer=True) == set()
    assert found(work(expected, science=SOUND), has_reviewer=True) == {("/science/checks", "check_missing")}
    assert (pointer, "reviewer_unavailable") in found(work(expected, science=SOUND))
    assert found(work(expected), has_reviewer=True) == {("/science", "science_missing")}


@pytest.mark.parametrize(
    ("metric", "check"),
    [
        ("values_plausible", "value_ranges"),
        ("domain_violations", "value_ranges"),
        ("values_consistent", "recompute_statistics"),
        ("value_mismatches", "recompute_statistics"),
        ("claims_not_recomputed", "recompute_statistics"),
        ("stat.n", "recompute_statistics"),
    ],
)
def test_a_metric_of_science_needs_its_check(metric: str, check: str) -> None:
    boolean = metric in {"values_plausible", "values_consistent"}
    expected = criterion(metric) if boolean else criterion(metric, "count", 0)
    other = next(each for each in ("value_ranges", "recompute_statistics") if each != check)
    assert message(work(expected)) == f"{metric} needs the work's science"
    assert message(work(expected, science={**SOUND, "checks": [other]})) == f"{metric} needs {check} in science.checks"
    assert found(work(expected, science={**SOUND, "checks": [check]})) == set()


def test_a_statistic_in_the_criteria_is_one_of_the_works_own() -> None:
    expected = criterion("stat.mean", "numeric", 0)
    unknown = "Unknown metric: stat.mean (the work's statistics are mean_fitness, n)"
    assert message(work(expected, science=SOUND)) == unknown
    assert found(work(expected, science=SOUND)) == {("/success_criteria/criteria/0/metric", "unknown_metric")}
    assert found(work(expected, science={"domain": "bioinformatics/DMS"})) == set()
    misnamed = work(criterion("stat.", "numeric", 0), science=SOUND)
    assert message(misnamed) == "Unknown metric: stat. (stat.NAME is expected)"


def test_a_statistic_is_taken_for_what_its_kind_makes_it() -> None:
    pointer = "/success_criteria/criteria/0/metric_type"
    assert found(work(criterion("stat.n", "count", 127), science=SOUND)) == set()
    assert found(work(criterion("stat.mean_fitness", "count", 1), science=SOUND)) == {(pointer, "invalid_metric_type")}
    assert found(work(criterion("stat.n", "boolean"), science=SOUND)) == {(pointer, "invalid_metric_type")}


@pytest.mark.parametrize(
    ("data", "problems"),
    [
        ([{"name": "a.csv"}], {("/science/data/0/sha256", "sha256_missing")}),
        ([{"name": "a.xlsx", "sha256": DIGEST}], {("/science/data/0/name", "unsupported_media_type")}),
        ([{"name": "a", "sha256": DIGEST}], {("/science/data/0/name", "unsupported_media_type")}),
        ([{"name": "a.csv", "sha256": DIGEST, "media_type": "image/png"}],
         {("/science/data/0/media_type", "unsupported_media_type")}),
        ([{"name": "scores", "sha256": DIGEST, "media_type": "text/csv"}], set()),
        ([{"name": "scores.tsv", "sha256": DIGEST, "media_type": "text/plain"}], set()),
        ([{"name": "scores.txt", "sha256": DIGEST, "media_type": "text/plain"}],
         {("/science/data/0/media_type", "unsupported_media_type")}),
        ([{"name": name, "sha256": DIGEST} for name in ("A.CSV", "b.tsv", "c.jsonl", "d.ndjson", "e.parquet")], set()),
        ([{"name": "a.csv", "sha256": DIGEST}] * 2, {("/science/data/1/name", "duplicate_file")}),
    ],
)  # fmt: skip
def test_raw_data_are_uploaded_files_that_can_be_read(data: list[Any], problems: set[tuple[str, str]]) -> None:
    assert found(work(science={**SOUND, "data": data})) == problems
    assert not checked(work(science={**SOUND, "data": data})).only_shape


def test_duplicate_statistics_are_reported_at_their_pointers() -> None:
    body = work(science={"statistics": [MEAN, MEAN, {**MEAN, "name": "sanity.mine"}]})
    assert found(body) == {
        ("/science/statistics/1/name", "duplicate_statistic"),
        ("/science/statistics/2/name", "reserved_name"),
    }


def test_problems_of_shape_are_marked_in_submissions() -> None:
    body = work(science={"statistics": [{"name": "n", "stat": "mode", "column": "x"}], "strict": "yes"})
    answer = checked(body)
    assert {each.path for each in answer.problems} == {"/science/statistics/0/stat", "/science/strict"}
    assert answer.only_shape


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"where": [{"column": "x", "op": "~", "value": 1}]}, "/where/0/op", ">, >=, <, <=, =, !="),
        ({"where": {"column": "x"}}, "/where", "Expected an array"),
        ({"column": None, "columns": ["x", "y"]}, "", "mean takes one column: give it as `column`"),
    ],
)
def test_statistic_problem_contains_fix(change: dict[str, Any], pointer: str, says: str) -> None:
    [problem] = checked(work(science={"statistics": [{**MEAN, **change}]})).problems
    assert problem.path == f"/science/statistics/0{pointer}"
    assert says in problem.message


def test_threshold_of_invalid_metric_is_not_reported() -> None:
    pointer = "/success_criteria/criteria/0"
    assert found(work(criterion("nope", "numeric", "x"), science=SOUND)) == {(f"{pointer}/metric", "unknown_metric")}
    of_wrong_type = criterion("stat.n", "rouge_score", 127)
    assert found(work(of_wrong_type, science=SOUND)) == {(f"{pointer}/metric_type", "invalid_metric_type")}
    assert found(work(criterion("stat.n", "count", "x"), science=SOUND)) == {
        (f"{pointer}/threshold", "invalid_threshold")
    }


def warned(body: Any, **more: Any) -> list[tuple[str, str]]:
    answer = checked(body, **more)
    assert answer.submission is not None
    return [(each.code, each.path) for each in answer.warnings if each.code != "unread"]


def test_a_statistic_of_a_file_that_the_work_does_not_give_is_warned_of() -> None:
    science = {**SOUND, "statistics": [MEAN, {**MEAN, "name": "other", "artifact": "score.csv"}]}
    assert warned(work(science=science)) == [("own_data_alone", "/science/statistics/1/artifact")]
    named = {**science, "statistics": [{**MEAN, "artifact": "scores.csv"}]}
    assert warned(work(science=named)) == []


def test_data_that_are_not_uploaded_yet_are_a_warning_where_they_need_not_be() -> None:
    body = work(science={**SOUND, "data": [{"name": "scores.csv"}]})
    assert warned(body, needs_upload=False) == [("not_uploaded", "/science/data/0/sha256")]
    assert found(body) == {("/science/data/0/sha256", "sha256_missing")}


def test_all_problems_come_in_one_answer() -> None:
    body = work(
        criterion("answers_question"),
        criterion("values_plausible"),
        criterion("stat.p", "numeric", 0),
        science={
            "domain": "hush",
            "checks": ["peer_review", "hush"],
            "statistics": [MEAN, MEAN, {"name": "q", "stat": "quantile", "column": "x"}],
            "data": [{"name": "hush.zip"}],
            "output_constraints": {"mean": {"min": 2, "max": 1}},
        },
        title="",
    )
    assert found(body) == {
        ("/title", "string_too_short"),
        ("/science/domain", "unknown_domain"),
        ("/science/checks/0", "reviewer_unavailable"),
        ("/science/checks/1", "unknown_check"),
        ("/science/checks", "check_missing"),
        ("/science/statistics/1/name", "duplicate_statistic"),
        ("/science/statistics/2", "invalid_statistic"),
        ("/science/data/0/sha256", "sha256_missing"),
        ("/science/data/0/name", "unsupported_media_type"),
        ("/science/output_constraints/mean", "invalid_range"),
        ("/success_criteria/criteria/0/metric", "reviewer_unavailable"),
        ("/success_criteria/criteria/2/metric", "unknown_metric"),
    }


LISTED = st.lists(
    st.dictionaries(st.sampled_from(["name", "sha256", "media_type", "stat", "column"]), ANYTHING), max_size=3
)


@given(st.sampled_from(sorted(Science.model_fields)), ANYTHING | LISTED, st.booleans())
def test_whatever_stands_in_science_is_answered_never_with_an_exception(name: str, value: Any, reviewer: bool) -> None:
    body = work(criterion("stat.n", "count", 1), criterion("values_plausible"), science={**SOUND, name: value})
    answer = check_submission(body, CATALOG, has_reviewer=reviewer)
    assert (answer.submission is None) is bool(answer.problems)
    json.dumps([each.model_dump(mode="json") for each in answer.problems])


def test_a_science_gate_makes_failure_possible_where_every_candidate_meets_the_criteria() -> None:
    certain = {"success_criteria": {"criteria": [criterion("word_count", "count", 3)], "aggregation": "weighted",
                                    "minimum_weighted_score": 0.0}}  # fmt: skip
    alone, gated = checked({**work(), **certain}), checked({**work(science=SOUND), **certain})
    assert [each.code for each in alone.warnings] == ["success_certain"]
    assert "success_certain" not in [each.code for each in gated.warnings]
    assert gated.quote == alone.quote
    assert gated.quote is not None
    assert gated.quote.minimum.total == 0


RATIO = {"column": "ratio", "expression": "x / y"}


@pytest.mark.parametrize(
    ("derived", "problems"),
    [
        ([RATIO, {"column": "z", "expression": "ratio + x"}], set()),
        ([{"column": "x", "expression": "x * 2"}], set()),
        ([{**RATIO, "artifact": "a.csv"}, {**RATIO, "artifact": "b.csv"}], set()),
        ([RATIO, {**RATIO, "artifact": "b.csv"}], {("/science/derived/1/column", "duplicate_column")}),
        ([RATIO, RATIO], {("/science/derived/1/column", "duplicate_column")}),
        ([{"column": "z", "expression": "ratio + x"}, RATIO], {("/science/derived/0/expression", "derived_below")}),
        ([{**RATIO, "expression": "x ** y"}], {("/science/derived/0/expression", "invalid_expression")}),
        ([{**RATIO, "expression": "lg2(x)"}, 5],
         {("/science/derived/0/expression", "invalid_expression"), ("/science/derived/1", "model_type")}),
        ("x / y", {("/science/derived", "tuple_type")}),
    ],
)  # fmt: skip
def test_derived_columns_are_checked_one_by_one(derived: Any, problems: set[tuple[str, str]]) -> None:
    assert found(work(science={**SOUND, "derived": derived})) == problems


BOTH = {"name": "both", "left": "scores.csv", "right": "b.csv", "on": ["gene"]}


@pytest.mark.parametrize(
    ("joins", "problems"),
    [
        ([BOTH, {**BOTH, "name": "three", "right": "both", "left": "c.csv"}], set()),
        ([BOTH, BOTH], {("/science/joins/1/name", "duplicate_join")}),
        ([{**BOTH, "name": "scores.csv", "left": "a.csv"}], {("/science/joins/0/name", "duplicate_join")}),
        ([{**BOTH, "name": "three", "right": "both"}, BOTH], {("/science/joins/0/right", "join_below")}),
        ([{**BOTH, "how": "outer"}], {("/science/joins/0/how", "enum")}),
        ([{**BOTH, "on": ["gene", "gene"]}], {("/science/joins/0", "duplicate_name")}),
        ([{**BOTH, "name": f"j{index}"} for index in range(6)], {("/science/joins", "too_long")}),
    ],
)  # fmt: skip
def test_joins_are_checked_one_by_one(joins: Any, problems: set[tuple[str, str]]) -> None:
    assert found(work(science={**SOUND, "joins": joins})) == problems


def test_refusals_of_derived_columns_say_what_to_do() -> None:
    below = [{"column": "z", "expression": "ratio + x"}, RATIO]
    assert message(work(science={**SOUND, "derived": below})).endswith("move ratio up, or rename it")
    misspelt = [{**RATIO, "expression": "lg2(x)"}]
    assert "did you mean log2" in message(work(science={**SOUND, "derived": misspelt}))


def test_test_without_groups_is_refused_with_what_it_takes() -> None:
    body = work(science={**SOUND, "statistics": [{"name": "p", "stat": "welch_p", "column": "x"}]})
    assert found(body) == {("/science/statistics/0", "invalid_statistic")}
    assert message(body) == "A test, and it alone, takes groups: two lists of filters"
    misspelt = work(science={**SOUND, "statistics": [{"name": "p", "stat": "welch", "column": "x"}]})
    assert "welch_t" in message(misspelt)
