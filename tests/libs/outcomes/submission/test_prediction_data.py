"""Evaluation data of metrics of predictions, as a submission's check and the engine read them."""

from typing import Any

import pytest

from aex_outcomes import Catalog
from aex_outcomes.submission import check_submission
from tests.libs.outcomes.engine.builders import criteria, criterion, verify

CATALOG = Catalog.of()
ZERO = [{"value": 0, "id": 1}, {"value": 2, "id": 2}]


def problems(evaluation: dict[str, Any], *metrics: str) -> list[tuple[str, str]]:
    listed = [criterion(each, "gte", 0.5).model_dump(mode="json") for each in metrics]
    body = {
        "title": "t",
        "budget": {"max_cpc": "1"},
        "evaluation": evaluation,
        "success_criteria": {"criteria": listed},
    }
    return [(each.path, each.code) for each in check_submission(body, CATALOG).problems]


@pytest.mark.parametrize(
    ("metric", "evaluation", "problem"),
    [
        ("mape", {"targets": [1, 0]}, ("/targets/1", "zero_target")),
        ("mape", {"targets": ZERO}, ("/targets/0/value", "zero_target")),
        ("spearman", {"targets": [2, 2.0]}, ("/targets", "constant_targets")),
        ("mae", {"targets": [{"value": 1, "id": 7}, {"value": 2, "id": 7}]}, ("/targets", "duplicate_id")),
        ("roc_auc", {"ground_truth": ["a", "a"]}, ("/ground_truth", "one_class")),
        ("log_loss", {"ground_truth": [1]}, ("/ground_truth", "one_class")),
        ("brier", {"ground_truth": [True, "true"]}, ("/ground_truth", "ambiguous_label")),
        ("mcc", {}, ("/ground_truth", "evaluation_missing")),
        ("r2", {}, ("/targets", "evaluation_missing")),
    ],
)
def test_data_that_a_metric_cannot_use_are_refused_with_their_pointer(
    metric: str, evaluation: dict[str, Any], problem: tuple[str, str]
) -> None:
    path, code = problem
    assert problems(evaluation, metric) == [(f"/evaluation{path}", code)]
    other = {"named": {"x": {**evaluation, "at": "/x"}}}
    assert problems(other, f"{metric}.x") == [(f"/evaluation/named/x{path}", code)]


def test_data_are_checked_for_the_metrics_that_use_them_alone() -> None:
    one_class = {"ground_truth": ["a", "a"], "targets": ZERO}
    assert problems(one_class, "accuracy", "macro_f1", "mae", "spearman") == []
    named = {"named": {"x": one_class, "y": {"targets": [1, 0]}}}
    assert problems(named, "mae.x", "mape.y") == [("/evaluation/named/y/targets/1", "zero_target")]


def test_all_problems_are_reported_at_once() -> None:
    evaluation = {"targets": [0, 0], "ground_truth": ["a"], "named": {"x": {"targets": [0, 1]}}}
    assert problems(evaluation, "mape", "spearman", "brier", "mape.x") == [
        ("/evaluation/ground_truth", "one_class"),
        ("/evaluation/named/x/targets/0", "zero_target"),
        ("/evaluation/targets", "constant_targets"),
        ("/evaluation/targets/0", "zero_target"),
        ("/evaluation/targets/1", "zero_target"),
    ]


async def test_named_metrics_read_their_own_data_at_their_own_location() -> None:
    evaluation = {
        "targets": [1, 3],
        "ground_truth": ["a", "b"],
        "named": {
            "price": {"targets": [10, 30], "at": "/price"},
            "kind": {"ground_truth": ["a", "b"], "at": "/kind"},
            "odds": {"ground_truth": ["a", "b"], "at": "/odds"},
        },
    }
    output = {
        "predictions": [2, 3],
        "price": [10, 30],
        "kind": ["a", "b"],
        "odds": [{"probabilities": {"a": 1, "b": 0}}, {"probabilities": {"a": 0, "b": 1}}],
    }
    names = ["mae", "mae.price", "mcc.kind", "brier.odds", "macro_f1"]
    listed = [criterion(each, "gte", -1, metric_type="numeric") for each in names]
    found = await verify(criteria(*listed), output, evaluation=evaluation)
    assert [each.value for each in found.criterion_results] == [0.5, 0, 1, 0, 0]


async def test_what_the_agent_gets_wrong_is_unmet_and_what_it_leaves_out_is_missing() -> None:
    evaluation = {"targets": [1, 3], "named": {"x": {"targets": [1, 3], "at": "/x"}}}
    listed = [criterion(each, "gte", -1, metric_type="numeric") for each in ("spearman", "rmse", "mae.x")]
    found = await verify(criteria(*listed), {"predictions": [2, 2]}, evaluation=evaluation)
    assert found.verdict == "rejected"
    codes = [each.error.code if each.error else None for each in found.criterion_results]
    assert codes == ["undefined", None, "metric_missing"]
