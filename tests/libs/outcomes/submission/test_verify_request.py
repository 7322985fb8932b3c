from typing import Any

import pytest

from aex_models.criteria import SuccessCriterion
from aex_models.numbers import JsonFloat, format_as_written
from aex_outcomes import Catalog
from aex_outcomes.catalog import InvalidMetricType, TooManyCriteria, UnknownMetric
from aex_outcomes.submission.verify_request import Trial, VerifyRequest, check_trial, check_verify_request

CATALOG = Catalog.of()
CRITERION = {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4}
GOOD: dict[str, Any] = {
    "success_criteria": {"criteria": [CRITERION]},
    "evaluation": {"reference": "the cat sat"},
    "output": {"text": "the cat"},
}


def test_a_good_request_is_returned() -> None:
    checked = check_verify_request(GOOD, CATALOG)
    assert checked.problems == ()
    assert checked.request is not None
    assert (checked.request.input, checked.request.platform_latency_ms) == ({}, None)


def test_criteria_or_science_are_required() -> None:
    checked = check_verify_request({"output": {}}, CATALOG)
    assert [(each.path, each.code) for each in checked.problems] == [("/success_criteria", "missing")]


@pytest.mark.parametrize("output", [None, "text", [1], {}, 5, True])
def test_any_json_is_an_output_null_too(output: Any) -> None:
    assert check_verify_request({**GOOD, "output": output}, CATALOG).request is not None


@pytest.mark.parametrize(
    ("listed", "path", "refusal"),
    [
        ([{**CRITERION, "metric": "nope"}], "/success_criteria/criteria/0/metric", UnknownMetric),
        ([{**CRITERION, "metric_type": "latency"}], "/success_criteria/criteria/0/metric_type", InvalidMetricType),
        ([{**CRITERION, "threshold": n / 11} for n in range(11)], "/success_criteria/criteria", TooManyCriteria),
    ],
)
def test_criteria_that_the_engine_refuses_are_named_before_it_runs_in_the_same_words(
    listed: list[dict[str, Any]], path: str, refusal: type[Exception]
) -> None:
    [problem] = check_verify_request({**GOOD, "success_criteria": {"criteria": listed}}, CATALOG).problems
    with pytest.raises(refusal) as refused:
        CATALOG.require_supported([SuccessCriterion.model_validate(each) for each in listed])
    assert (problem.path, problem.message) == (path, str(refused.value))


def test_problems_of_shape_and_of_sense_come_together_each_once() -> None:
    body = {
        "success_criteria": {"criteria": [{**CRITERION, "metric": "nope", "weight": 0}]},
        "evaluation": {"reference": "x", "pattern": "(", "odd": 1},
        "execution_metadata": {"duration_ms": True},
        "platform_latency_ms": float("nan"),
    }
    checked = check_verify_request(body, CATALOG)
    assert checked.request is None
    assert not checked.only_shape
    assert [each.path for each in checked.problems] == [
        "/evaluation/odd",
        "/evaluation/pattern",
        "/execution_metadata/duration_ms",
        "/output",
        "/platform_latency_ms",
        "/success_criteria/criteria/0/metric",
        "/success_criteria/criteria/0/weight",
    ]


@pytest.mark.parametrize("body", [None, 5, "x", [], [GOOD]])
def test_what_is_no_object_is_of_the_wrong_shape(body: Any) -> None:
    checked = check_verify_request(body, CATALOG)
    assert checked.only_shape
    assert [each.path for each in checked.problems] == [""]


def test_problems_of_shape_are_marked() -> None:
    assert check_verify_request({**GOOD, "input": []}, CATALOG).only_shape
    assert not check_verify_request({**GOOD, "success_criteria": 5}, CATALOG).only_shape


SCIENCE = {"domain": "bioinformatics/DMS", "statistics": [{"name": "mean", "stat": "mean", "column": "x"}]}
CLAIMING: dict[str, Any] = {
    **GOOD,
    "science": SCIENCE,
    "claimed_values": {"mean": 11.17},
    "claimed_metrics": {"accuracy": 0.9, "sound": True},
    "reasoning": "I averaged.",
    "artifacts": [{"name": "scores.csv", "media_type": "text/csv", "content": "x\n1\n"}],
}


def found(body: Any, kind: type[Trial] = VerifyRequest, **more: Any) -> set[tuple[str, str]]:
    return {(each.path, each.code) for each in check_trial(body, CATALOG, kind, **more).problems}


def test_a_request_may_bring_science_and_all_that_an_agent_claims() -> None:
    request = check_verify_request(CLAIMING, CATALOG).request
    assert request is not None
    assert request.science is not None
    assert (request.science.domain, request.claimed_values) == ("bioinformatics/DMS", {"mean": 11.17})
    assert [each.name for each in request.artifacts] == ["scores.csv"]


def test_a_claim_keeps_the_text_of_its_number() -> None:
    request = check_verify_request({**CLAIMING, "claimed_values": {"mean": JsonFloat("11.170")}}, CATALOG).request
    assert request is not None
    assert format_as_written(request.claimed_values["mean"]) == "11.170"


def test_nothing_is_uploaded_for_a_trial() -> None:
    upload = {"name": "scores.csv", "media_type": "text/csv", "sha256": "a" * 64}
    assert found({**CLAIMING, "artifacts": [*CLAIMING["artifacts"], upload]}) == {
        ("/artifacts/1/sha256", "artifact_not_inline")
    }
    named = {**CLAIMING, "science": {**SCIENCE, "data": [{"name": "own.csv", "sha256": "a" * 64}]}}
    assert found(named) == {("/science/data", "data_not_inline")}
    [problem] = check_verify_request(named, CATALOG).problems
    assert "send the files inline in data" in problem.message
    assert found(named, Trial) == set()
    assert found({**CLAIMING, "data": [upload]}) == {("/data/0/sha256", "artifact_not_inline")}


def test_a_trial_may_bring_the_consumers_own_data_and_the_works_domain() -> None:
    own = {"name": "own.csv", "media_type": "Text/CSV; charset=utf-8", "content": "x\n1\n"}
    body = {
        **CLAIMING,
        "science": {"checks": ["fitness_mean_near_zero"]},
        "domain": "bioinformatics/DMS",
        "data": [own],
    }
    request = check_verify_request(body, CATALOG).request
    assert request is not None
    assert (request.domain, [each.name for each in request.data]) == ("bioinformatics/DMS", ["own.csv"])
    assert found({**body, "domain": "general"}) == {("/science/checks/0", "domain_missing")}
    assert (
        check_verify_request(CLAIMING, CATALOG).request
        == check_verify_request({**CLAIMING, "domain": "general", "data": []}, CATALOG).request
    )


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ([{"name": "plot.png", "media_type": "image/png"}], ("/data/0/media_type", "unsupported_media_type")),
        ([{"name": "a.csv", "media_type": "text/csv; charset=latin-1"}], ("/data/0/media_type", "unsupported_charset")),
        ([{"name": "a.csv", "media_type": "text/csv"}] * 2, ("/data/1/name", "duplicate_file")),
        ([{"name": f"{n}.csv", "media_type": "text/csv"} for n in range(11)], ("/data", "too_long")),
        ([{"name": "../a.csv", "media_type": "text/csv"}], ("/data/0/name", "string_pattern_mismatch")),
    ],
)
def test_unreadable_data_are_refused_with_pointer(listed: list[dict[str, str]], problem: tuple[str, str]) -> None:
    assert found({**CLAIMING, "data": [{**each, "content": "x"} for each in listed]}) == {problem}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"science": {**SCIENCE, "domain": "nope"}}, ("/science/domain", "unknown_domain")),
        ({"science": {"checks": ["peer_review"]}}, ("/science/checks/0", "reviewer_unavailable")),
        ({"science": {"strict": 1}}, ("/science/strict", "bool_type")),
        ({"claimed_values": {"mean": True}}, ("/claimed_values/mean", "invalid_claim")),
        ({"claimed_values": {"mean": "11.17"}}, ("/claimed_values/mean", "invalid_claim")),
        ({"claimed_metrics": {"mean": "high"}}, ("/claimed_metrics/mean", "invalid_claim")),
        ({"reasoning": ["because"]}, ("/reasoning", "string_type")),
        ({"domain": "two words"}, ("/domain", "string_pattern_mismatch")),
        ({"artifacts": [{"name": "a.csv", "media_type": "text/csv"}]}, ("/artifacts/0", "artifact_source")),
    ],
)
def test_claims_and_science_are_checked_as_those_of_works_and_candidates(
    change: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert found({**CLAIMING, **change}) == {problem}
