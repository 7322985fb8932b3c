from typing import Any

import pytest

from aex_models.numbers import JsonFloat
from aex_outcomes import AgentFault, PlatformFault, RegressionExtractor

METRICS = ("mae", "rmse", "mape", "r2", "spearman")


async def extract(predictions: Any, targets: Any, *metrics: str, **settings: Any) -> dict[str, Any]:
    output = predictions if isinstance(predictions, list | dict) else {"predictions": predictions}
    extractor = RegressionExtractor(**settings).for_metrics(frozenset(metrics or METRICS))
    return dict(await extractor.extract({"targets": targets}, output, {}))


@pytest.mark.parametrize(
    ("predictions", "targets", "expected"),
    [
        ([2, 3], [1, 3], 0.5),
        ([{"value": 2.0}, 3], [1, {"value": 3}], 0.5),
        ([{"value": 3, "id": "b"}, {"value": 1, "id": "a"}], [{"value": 1, "id": "a"}, {"value": 3, "id": "b"}], 0),
        ([{"value": 3, "id": "b"}, {"value": 1}], [{"value": 1, "id": "a"}, {"value": 3, "id": "b"}], 2),
        ([{"value": 3, "id": 2}, {"value": 1, "id": 1}], [1, 3], 2),
        ([JsonFloat("1.50"), 3], [1, 3], 0.25),
        ([2**60, 3.0], [2**60, 3], 0),
    ],
)
async def test_numbers_are_matched_by_id_where_both_sides_have_one_else_by_position(
    predictions: list[Any], targets: list[Any], expected: float
) -> None:
    assert (await extract(predictions, targets))["mae"] == expected


async def test_selected_metrics_alone_are_computed() -> None:
    assert await extract([2, 3], [0, 3], "mae", "r2") == {"mae": 1, "r2": pytest.approx(1 - 4 / 4.5)}


@pytest.mark.parametrize(
    ("predictions", "code"),
    [
        ([1], "prediction_count"),
        ([1, 2, 3], "prediction_count"),
        ([1, "2"], "invalid_prediction"),
        ([1, True], "invalid_prediction"),
        ([1, None], "invalid_prediction"),
        ([1, {"label": 2}], "invalid_prediction"),
        ([1, 10**400], "invalid_prediction"),
        ([1.0, float("nan")], "invalid_prediction"),
        ([1.0, float("inf")], "invalid_prediction"),
        ([{"value": 1, "id": "a"}, {"value": 2, "id": "c"}], "prediction_ids"),
        ([{"value": 1, "id": "a"}, {"value": 2, "id": "a"}], "prediction_ids"),
        ("1, 2", "not_a_list"),
        (7, "not_a_list"),
    ],
)
async def test_predictions_that_do_not_fit_are_the_agents_fault(predictions: Any, code: str) -> None:
    with pytest.raises(AgentFault) as caught:
        await extract(predictions, [{"value": 1, "id": "a"}, {"value": 2, "id": "b"}])
    assert caught.value.code == code


async def test_constant_predictions_have_no_rank_correlation_but_errors() -> None:
    found = await extract([2, 2], [1, 3])
    assert (found["mae"], found["r2"]) == (1, 0)
    assert (found["spearman"].code, type(found["spearman"])) == ("undefined", AgentFault)


async def test_score_beyond_a_double_is_the_agents_fault() -> None:
    assert (await extract([-1.7e308, 1.0], [1.7e308, 1.0], "mae"))["mae"].code == "undefined"


@pytest.mark.parametrize("output", [{}, {"predictions": None}, {"rows": [1, 2]}, None, "text"])
async def test_metrics_need_predictions(output: Any) -> None:
    assert await RegressionExtractor().extract({"targets": [1, 2]}, output, {}) == {}


async def test_metrics_need_targets() -> None:
    assert await extract([1, 2], None) == {}
    assert await extract([1, 2], []) == {}


@pytest.mark.parametrize(
    ("targets", "code"), [([1, "x"], "invalid_targets"), ([0, 1], "zero_target"), ([2, 2], "constant_targets")]
)
async def test_targets_that_checks_refuse_are_no_fault_of_the_agent(targets: list[Any], code: str) -> None:
    with pytest.raises(PlatformFault) as caught:
        await extract([1, 2], targets)
    assert caught.value.code == code


async def test_a_list_is_the_predictions_unless_the_data_have_a_location_of_their_own() -> None:
    assert (await extract([1, 2], [1, 2], "mae"))["mae"] == 0
    assert (await extract({"rows": [1, 2]}, [1, 2], "mae", predictions_pointer="/rows"))["mae"] == 0
    moved = RegressionExtractor().at_pointer("/rows").for_metrics(frozenset({"mae"}))
    assert await moved.extract({"targets": [1, 2]}, [1, 2], {}) == {}
    assert await moved.extract({"targets": [1, 2]}, {"rows": [1, 2]}, {}) == {"mae": 0}


def test_problems_of_targets_are_those_of_the_selected_metrics() -> None:
    data = {"targets": [0, {"value": 0.0, "id": 1}, {"value": 0, "id": 1}]}

    def problems(*metrics: str) -> list[tuple[str, str]]:
        found = RegressionExtractor().for_metrics(frozenset(metrics)).check_evaluation(data)
        return [(each.path, each.code) for each in found]

    assert problems("mae", "r2") == [("/targets", "duplicate_id")]
    zeros = [("/targets/0", "zero_target"), ("/targets/1/value", "zero_target"), ("/targets/2/value", "zero_target")]
    assert problems("mape") == [("/targets", "duplicate_id"), *zeros]
    assert problems("spearman") == [("/targets", "duplicate_id"), ("/targets", "constant_targets")]


@pytest.mark.parametrize("targets", [None, [], "x", [None], [{"value": "x"}], [[0]]])
def test_malformed_targets_are_left_to_the_check_of_their_shape(targets: Any) -> None:
    assert not list(RegressionExtractor().check_evaluation({"targets": targets}))


def test_at_most_20_zeros_are_reported() -> None:
    found = RegressionExtractor().for_metrics(frozenset({"mape"})).check_evaluation({"targets": [0] * 100})
    assert len(list(found)) == 20


def test_all_metrics_are_secret_numbers_that_can_be_named() -> None:
    entries = RegressionExtractor().catalog_entries()
    assert tuple(each.name for each in entries) == METRICS
    assert all(each.secret and each.named and each.at == "/predictions" for each in entries)
    assert {each.name: (each.direction.value, each.range) for each in entries} == {
        **dict.fromkeys(("mae", "rmse", "mape"), ("lower", (0, None))),
        "r2": ("higher", (None, 1)),
        "spearman": ("higher", (-1, 1)),
    }
