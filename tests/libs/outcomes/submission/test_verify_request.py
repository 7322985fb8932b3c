"""A candidate without a contract: everything wrong with it in one answer."""

from typing import Any

import pytest

from aex_models.criteria import SuccessCriterion
from aex_outcomes import Catalog
from aex_outcomes.catalog import InvalidMetricType, TooManyCriteria, UnknownMetric
from aex_outcomes.submission.verify_request import check_verify_request

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
        CATALOG.check([SuccessCriterion.model_validate(each) for each in listed])
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


def test_shape_alone_is_told_apart() -> None:
    assert check_verify_request({**GOOD, "input": []}, CATALOG).only_shape
    assert not check_verify_request({**GOOD, "success_criteria": 5}, CATALOG).only_shape
