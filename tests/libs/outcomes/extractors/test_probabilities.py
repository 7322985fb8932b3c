from typing import Any

import pytest

from aex_models.numbers import JsonFloat
from aex_outcomes import AgentFault, PlatformFault, ProbabilityExtractor

METRICS = ("roc_auc", "log_loss", "brier")
TRUTH = ["no", "yes"]
EVEN = {"probabilities": {"no": 0.5, "yes": 0.5}}


def certain(label: str, **fields: Any) -> dict[str, Any]:
    return {"probabilities": {"no": 0, "yes": 0, label: 1}, **fields}


async def extract(predictions: Any, truth: Any = TRUTH, **settings: Any) -> dict[str, Any]:
    output = {"predictions": predictions}
    return dict(await ProbabilityExtractor(**settings).extract({"ground_truth": truth}, output, {}))


async def test_perfect_and_even_predictions_have_the_known_scores() -> None:
    perfect = await extract([certain("no"), certain("yes")])
    assert (perfect["roc_auc"], perfect["brier"]) == (1, 0)
    even = await extract([EVEN, EVEN])
    assert even == pytest.approx({"roc_auc": 0.5, "log_loss": 0.693147180559945, "brier": 0.25})


async def test_predictions_are_matched_by_id_where_both_sides_have_one() -> None:
    truth = [{"label": "no", "id": 1}, {"label": "yes", "id": 2}]
    swapped = [certain("yes", id=2), certain("no", id=1)]
    assert (await extract(swapped, truth))["roc_auc"] == 1
    assert (await extract(swapped))["roc_auc"] == 0


@pytest.mark.parametrize(
    ("truth", "labels"), [([0, 1], ("0", "1")), ([False, True], ("false", "true")), ([9, 10], ("9", "10"))]
)
async def test_numbers_and_booleans_are_keys_as_in_json_and_the_greater_label_is_positive(
    truth: list[Any], labels: tuple[str, str]
) -> None:
    # The rounding of sums makes a tie only among the probabilities of the lower label.
    rows = [dict(zip(labels, each, strict=True)) for each in ((0.5, 0.5), (0.5, 0.5000001))]
    assert (await extract([{"probabilities": each} for each in rows], truth))["roc_auc"] == 1


async def test_labels_that_are_never_true_may_have_probabilities() -> None:
    rows = [{"no": 0.5, "yes": 0.25, "maybe": 0.25}, {"no": 0, "yes": 1}]
    found = await extract([{"probabilities": each} for each in rows])
    assert found["brier"] == pytest.approx((0.25 + 0.0625 + 0.0625) / 2 / 2)
    assert found["roc_auc"] == 1


@pytest.mark.parametrize("total", [1 - 1e-6, 1 + 1e-6])
async def test_sum_may_differ_from_1_by_a_millionth(total: float) -> None:
    row = {"probabilities": {"no": 0.5, "yes": total - 0.5}}
    assert (await extract([row, row]))["roc_auc"] == 0.5


@pytest.mark.parametrize(
    "prediction",
    [
        {"no": 0.5, "yes": 0.5},
        {"probabilities": [0.5, 0.5]},
        {"probabilities": {}},
        {"probabilities": {"yes": 1}},
        {"probabilities": {"no": 0.5, "yes": 0.4}},
        {"probabilities": {"no": 0.5, "yes": 0.5, "maybe": 0.1}},
        {"probabilities": {"no": -0.5, "yes": 1.5}},
        {"probabilities": {"no": True, "yes": False}},
        {"probabilities": {"no": "0.5", "yes": 0.5}},
        {"probabilities": {"no": None, "yes": 1}},
        {"probabilities": {"no": float("nan"), "yes": 1.0}},
        "yes",
        None,
    ],
)
async def test_what_is_no_distribution_is_invalid_and_no_true_label_is_quoted(prediction: Any) -> None:
    with pytest.raises(AgentFault) as caught:
        await extract([EVEN, prediction])
    assert caught.value.code == "invalid_probabilities"
    assert caught.value.message.startswith("prediction 1: ")
    assert not {"no", "yes"} & set(caught.value.message.split())


@pytest.mark.parametrize(
    ("predictions", "code"),
    [
        ([EVEN], "prediction_count"),
        ("yes", "not_a_list"),
        ([{**EVEN, "id": "a"}, {**EVEN, "id": "a"}], "prediction_ids"),
        ([{**EVEN, "id": "a"}, {**EVEN, "id": "c"}], "prediction_ids"),
    ],
)
async def test_predictions_that_do_not_fit_are_the_agents_fault(predictions: Any, code: str) -> None:
    with pytest.raises(AgentFault) as caught:
        await extract(predictions, [{"label": "no", "id": "a"}, {"label": "yes", "id": "b"}])
    assert caught.value.code == code


async def test_numbers_with_their_text_are_probabilities() -> None:
    row = {"probabilities": {"no": JsonFloat("0.50"), "yes": JsonFloat("0.5")}}
    assert (await extract([row, row]))["brier"] == 0.25


async def test_metrics_need_predictions_and_a_ground_truth() -> None:
    assert await ProbabilityExtractor().extract({"ground_truth": TRUTH}, {"text": "yes"}, {}) == {}
    assert await extract([EVEN, EVEN], None) == {}


@pytest.mark.parametrize(
    ("truth", "code"),
    [(["a", "a"], "one_class"), ([1, "1"], "ambiguous_label"), (["a", None], "invalid_ground_truth")],
)
async def test_ground_truth_that_checks_refuse_is_no_fault_of_the_agent(truth: list[Any], code: str) -> None:
    with pytest.raises(PlatformFault) as caught:
        await extract([EVEN, EVEN], truth)
    assert caught.value.code == code


def test_problems_of_the_ground_truth_are_those_of_the_selected_metrics() -> None:
    data = {"ground_truth": [{"label": "a", "id": 1}, {"label": "a", "id": 1}]}

    def codes(*metrics: str) -> list[str]:
        return [each.code for each in ProbabilityExtractor().for_metrics(frozenset(metrics)).check_evaluation(data)]

    assert codes() == ["duplicate_id"]
    assert codes("brier") == ["duplicate_id", "one_class"]


@pytest.mark.parametrize("truth", [None, [], "x", [None], [{"id": 1}]])
def test_malformed_ground_truth_is_left_to_the_check_of_its_shape(truth: Any) -> None:
    assert not list(ProbabilityExtractor().check_evaluation({"ground_truth": truth}))


async def test_metrics_can_be_selected_and_read_elsewhere() -> None:
    moved = ProbabilityExtractor().at_pointer("/inner/rows").for_metrics(frozenset({"brier"}))
    found = await moved.extract({"ground_truth": TRUTH}, {"inner": {"rows": [EVEN, EVEN]}}, {})
    assert found == {"brier": 0.25}
    assert await moved.extract({"ground_truth": TRUTH}, [EVEN, EVEN], {}) == {}


def test_all_metrics_are_secret_and_can_be_named() -> None:
    entries = ProbabilityExtractor().catalog_entries()
    assert tuple(each.name for each in entries) == METRICS
    assert all(each.secret and each.named and each.at == "/predictions" for each in entries)
    assert [each.range for each in entries] == [(0, 1), (0, None), (0, 2)]
