from typing import Any

import pytest

from aex_models.numbers import JsonFloat
from aex_outcomes import AgentFault, ClassificationExtractor

NAMED_SCORES = ("macro_f1", "micro_f1", "balanced_accuracy", "mcc")
SCORES = ("accuracy", "precision", "recall", "f1_score", *NAMED_SCORES)


async def extract(predictions: Any, truth: Any = None, **settings: Any) -> dict[str, Any]:
    output = predictions if isinstance(predictions, list) else {"predictions": None} | predictions
    return dict(await ClassificationExtractor(**settings).extract({"ground_truth": truth}, output, {}))


async def accuracy(predictions: list[Any], truth: list[Any]) -> Any:
    return (await extract({"predictions": predictions}, truth))["accuracy"]


@pytest.mark.parametrize(
    ("predictions", "truth", "expected"),
    [
        (["a", "b"], ["a", "a"], 0.5),
        ([{"label": "a"}, "b"], ["a", {"label": "b"}], 1),
        ([{"label": "b", "id": 2}, {"label": "a", "id": 1}], [{"label": "a", "id": 1}, {"label": "b", "id": 2}], 1),
        ([{"label": "b", "id": 2}, {"label": "a"}], [{"label": "a", "id": 1}, {"label": "b", "id": 2}], 0),
        ([{"label": "b", "id": 2}, {"label": "a", "id": 1}], ["a", "b"], 0),
        ([True, 1, "1"], [1, True, 1], 0),
        ([1.0, JsonFloat("2.0")], [1, 2], 1),
        ([{"label": "a", "id": 1.0}], [{"label": "a", "id": 1}], 1),
    ],
)
async def test_labels_are_matched_by_id_where_both_sides_have_one_else_by_position(
    predictions: list[Any], truth: list[Any], expected: float
) -> None:
    assert await accuracy(predictions, truth) == expected


@pytest.mark.parametrize(
    ("predictions", "truth", "code"),
    [
        (["a"], ["a", "b"], "prediction_count"),
        ([0.5], [1], "invalid_prediction"),
        ([{"label": "a", "id": "1"}], [{"label": "a", "id": 1}], "prediction_ids"),
    ],
)
async def test_predictions_that_do_not_fit_are_the_agents_fault(
    predictions: list[Any], truth: list[Any], code: str
) -> None:
    found = await extract({"predictions": predictions}, truth)
    assert {found[name].code for name in SCORES} == {code}
    assert found["num_predictions"] == len(predictions)


async def test_predictions_are_the_list_or_lie_at_the_configured_pointer() -> None:
    assert (await extract(["a", "b"], ["a", "b"]))["accuracy"] == 1
    extractor = ClassificationExtractor(predictions_pointer="/rows")
    assert (await extractor.extract({"ground_truth": ["a"]}, {"rows": ["a"]}, {}))["accuracy"] == 1


async def test_metrics_need_predictions_and_scores_need_ground_truth() -> None:
    assert await extract({}, ["a"]) == {}
    assert await extract({"predictions": ["a", "b"]}) == {"num_predictions": 2}


@pytest.mark.parametrize("predictions", ["a", {"0": "a"}])
async def test_predictions_that_are_no_list_are_a_fault_of_the_scores_that_can_be_named(predictions: Any) -> None:
    found = await extract({"predictions": predictions}, ["a"])
    assert {name: each.code for name, each in found.items()} == dict.fromkeys(NAMED_SCORES, "not_a_list")


async def test_a_named_location_is_read_alone() -> None:
    moved = ClassificationExtractor().at_pointer("/rows")
    assert (await moved.extract({"ground_truth": ["a"]}, {"rows": ["a"], "predictions": ["b"]}, {}))["macro_f1"] == 1
    assert await moved.extract({"ground_truth": ["a"]}, ["a"], {}) == {}


@pytest.mark.parametrize(
    ("confidences", "expected"),
    [
        ([0.5, 1], 0.75),
        ([1, None], None),
        ([0.5, "high"], "not_a_number"),
    ],
)
async def test_confidence_is_the_mean_where_every_prediction_has_one(confidences: list[Any], expected: Any) -> None:
    found = (await extract([{"label": "a", "confidence": each} for each in confidences])).get("confidence")
    assert (found.code if isinstance(found, AgentFault) else found) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"confidence": 0.7}, 0.7),
        ({"predictions": [], "confidence": 1}, 1),
        ({"predictions": ["a", "b"], "confidence": 0.7}, 0.7),
        ({"predictions": [{"label": "a", "confidence": None}, "b"], "confidence": 0.7}, 0.7),
        ({"predictions": [{"label": "a", "confidence": 0.5}], "confidence": 0.7}, 0.5),
        ({"predictions": [{"label": "a", "confidence": 0.5}, "b"], "confidence": 0.7}, None),
        ({"predictions": ["a"], "confidence": None}, None),
        ({"predictions": ["a"], "confidence": "high"}, "not_a_number"),
        ({"confidence": 70}, "out_of_range"),
        ([{"label": "a"}], None),
        ("0.7", None),
    ],
)
async def test_confidence_is_the_outputs_where_no_prediction_has_one(output: Any, expected: Any) -> None:
    found = (await ClassificationExtractor().extract({}, output, {})).get("confidence")
    assert (found.code if isinstance(found, AgentFault) else found) == expected


def test_ids_of_the_ground_truth_must_differ() -> None:
    truth = [{"label": "a", "id": 1}, {"label": "b", "id": 1}, "c"]
    [problem] = ClassificationExtractor().check_evaluation({"ground_truth": truth})
    assert problem.code == "duplicate_id"
    assert not list(ClassificationExtractor().check_evaluation({"ground_truth": ["a", "a"]}))


def test_scores_are_secret_and_what_the_agent_says_itself_is_not() -> None:
    secret = {entry.name for entry in ClassificationExtractor().catalog_entries() if entry.secret}
    assert secret == set(SCORES)


def test_metrics_of_the_predictions_have_their_location_and_some_can_be_named() -> None:
    entries = ClassificationExtractor().catalog_entries()
    assert {entry.name for entry in entries if entry.at == "/predictions"} == {*SCORES, "num_predictions"}
    assert [entry.name for entry in entries if entry.named] == list(NAMED_SCORES)
