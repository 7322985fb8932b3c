"""Metrics of answers: the measured part of the output, the data, and the fault of an error."""

from typing import Any

import pytest

from aex_models.numbers import JsonFloat
from aex_models.thresholds import MetricType
from aex_outcomes import AgentFault, AnswersExtractor

NAMES = [
    "exact_match", "numeric_match", "choice_match", "answer_f1", "edit_similarity", "fuzzy_ratio", "chrf",
]  # fmt: skip
TEXTS = {"exact_match", "answer_f1", "edit_similarity", "fuzzy_ratio", "chrf"}
KG = {"value": 1234, "units": ["kg"]}


async def extract(output: Any, **data: Any) -> dict[str, Any]:
    return dict(await AnswersExtractor().extract(data, output, {}))


async def test_a_text_is_compared_with_the_best_of_several_references() -> None:
    found = await extract({"text": "The cat."}, reference=["a dog", "cat"])
    assert set(found) == TEXTS
    assert (found["exact_match"], found["answer_f1"]) == (True, 1)
    assert found["edit_similarity"] == 3 / 8
    assert found == await extract({"text": "The cat."}, reference=["cat"])


@pytest.mark.parametrize(
    ("answer", "data", "expected"),
    [
        ("It weighs 1,234 kg.", KG, True),
        ("It weighs 1,234 lb.", KG, False),
        ("It weighs 1,234kg.", {"value": 1234}, False),
        ("nothing", KG, False),
        (1234, KG, True),
        (1234.0, KG, True),
        (JsonFloat("1234.5"), KG, False),
        (1235, {"value": 1234, "abs_tol": 1, "rel_tol": None}, True),
        ("99.9", {"value": 100, "rel_tol": 0.001}, True),
    ],
)
async def test_a_number_matches_within_the_tolerance_and_with_its_unit(
    answer: Any, data: dict[str, Any], expected: bool
) -> None:
    assert await extract({"text": answer}, numeric=data) == {"numeric_match": expected}


async def test_a_choice_matches_by_label_or_by_the_option() -> None:
    options = {"A": "Paris", "B": "Rome"}
    for text, expected in (("(a)", True), ("Paris.", True), ("Answer: A, B", False), ("Rome", False)):
        assert await extract({"text": text}, choice={"correct": "A", "options": options}) == {"choice_match": expected}
    assert await extract({"text": "c and A"}, choice={"correct": ["A", "C"]}) == {"choice_match": True}


async def test_only_metrics_with_evaluation_data_that_are_selected_are_computed() -> None:
    assert await extract({"text": "x"}) == {}
    assert AnswersExtractor().supported_metrics() == NAMES
    narrowed = AnswersExtractor().for_metrics(frozenset({"chrf", "choice_match"}))
    assert await narrowed.extract({"reference": "x", "numeric": {"value": 1}}, {"text": "x"}, {}) == {"chrf": 1}


async def test_data_may_have_a_location_which_that_of_named_data_replaces() -> None:
    output: dict[str, Any] = {"text": "none", "count": 3, "letter": "B", "other": "4"}
    data: dict[str, Any] = {
        "numeric": {"value": 3, "at": "/count"},
        "choice": {"correct": "B", "at": "/letter"},
        "reference": "none",
    }
    found = await AnswersExtractor().extract(data, output, {})
    assert (found["numeric_match"], found["choice_match"], found["exact_match"]) == (True, True, True)
    moved = AnswersExtractor(text_pointer="/letter").at_pointer("/other")
    found = await moved.extract(data, output, {})
    assert (found["numeric_match"], found["choice_match"], found["exact_match"]) == (False, False, False)
    assert await AnswersExtractor(text_pointer="/letter").extract({"reference": "b"}, output, {}) != {}


async def test_where_nothing_lies_at_the_location_there_is_no_metric() -> None:
    data: dict[str, Any] = {"reference": "x", "numeric": {"value": 1, "at": "/n"}, "choice": {"correct": "A"}}
    outputs: list[Any] = [{}, {"other": 1}, [], "text"]
    for output in outputs:
        assert await extract(output, **data) == {}
    assert set(await extract({"n": 1}, **data)) == {"numeric_match"}


@pytest.mark.parametrize("answer", [None, True, [], ["A"], {"text": "A"}])
async def test_another_kind_of_answer_is_the_agents_fault(answer: Any) -> None:
    data: dict[str, Any] = {"reference": "A", "numeric": {"value": 1}, "choice": {"correct": "A"}}
    found = await extract({"text": answer}, **data)
    assert {each.code for each in found.values()} == {"wrong_kind"}
    assert set(found) == set(NAMES)
    assert found["chrf"].message == "expected a text as the answer"


async def test_a_fault_does_not_quote_the_location_in_the_evaluation_data() -> None:
    secret: dict[str, Any] = {"numeric": {"value": 1, "at": "/hidden"}, "choice": {"correct": "A", "at": "/hidden"}}
    found = await extract({"hidden": []}, **secret)
    assert {each.code for each in found.values()} == {"wrong_kind"}
    assert not any("hidden" in each.message for each in found.values())


async def test_a_number_is_no_text() -> None:
    found = await extract({"text": 5}, reference="5", numeric={"value": 5})
    assert found.pop("numeric_match") is True
    assert {each.code for each in found.values()} == {"wrong_kind"}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**400])
async def test_a_number_that_json_cannot_hold_is_the_agents_fault(number: Any) -> None:
    found = await extract({"text": number}, numeric={"value": 5})
    assert found["numeric_match"].code == "wrong_kind"


async def test_texts_that_cannot_be_measured_are_the_agents_fault() -> None:
    for text, code in (("x" * 1_000_001, "text_too_long"), ("ab\ud800", "not_unicode")):
        found = await extract({"text": text}, reference="x", choice={"correct": "A"})
        assert {each.code for each in found.values()} == {code}


async def test_a_text_too_long_for_edits_has_all_other_metrics() -> None:
    found = await extract({"text": "a " * 500_000}, reference=["b" * 90_000])
    faults = {name: each for name, each in found.items() if isinstance(each, AgentFault)}
    assert {name: each.code for name, each in faults.items()} == {
        "edit_similarity": "text_too_long",
        "fuzzy_ratio": "text_too_long",
    }
    assert found["chrf"] == found["answer_f1"] == 0


@pytest.mark.parametrize(
    ("data", "path", "code"),
    [
        ({"numeric": {"value": 1, "units": ["kg", " "]}}, "/numeric/units", "blank_unit"),
        ({"choice": {"correct": " "}}, "/choice/correct", "blank_label"),
        ({"choice": {"correct": "A", "options": {"A": "x", "\t": "y"}}}, "/choice/options", "blank_label"),
        ({"choice": {"correct": ["A", "D"], "options": {"A": "x", "B": "y"}}}, "/choice/correct", "unknown_label"),
        ({"choice": {"correct": "A", "options": {"A": "x", "a": "y"}}}, "/choice/options", "duplicate_id"),
        ({"choice": {"correct": "A", "options": {"A": "the X.", "B": "x"}}}, "/choice/options", "duplicate_option"),
    ],
)
def test_data_that_no_answer_can_match_are_refused(data: dict[str, Any], path: str, code: str) -> None:
    [problem] = AnswersExtractor().check_evaluation(data)
    assert (problem.path, problem.code) == (path, code)


def test_sensible_data_and_data_of_a_wrong_shape_are_no_problem_here() -> None:
    good: dict[str, Any] = {"numeric": KG, "choice": {"correct": "a", "options": {"A": "1.5", "B": "15"}}}
    for data in (good, {"choice": {"correct": ["A", "B"]}}, {"numeric": 5, "choice": [1]}, {"choice": {"options": 1}}):
        assert list(AnswersExtractor().check_evaluation(data)) == []


def test_shares_have_the_types_of_shares_and_all_metrics_are_secret_and_can_be_named() -> None:
    entries = {each.name: each for each in AnswersExtractor().catalog_entries()}
    assert all(each.secret and each.named and each.at == "/text" for each in entries.values())
    assert entries["answer_f1"].metric_types[0] is MetricType.F1_SCORE
    for name in ("edit_similarity", "fuzzy_ratio", "chrf"):
        assert entries[name].metric_types == (MetricType.PERCENTAGE, MetricType.NUMERIC)
    for name in ("exact_match", "numeric_match", "choice_match"):
        assert entries[name].metric_types == (MetricType.BOOLEAN,)


def test_a_text_pointer_must_be_a_json_pointer() -> None:
    with pytest.raises(ValueError, match="pointer"):
        AnswersExtractor(text_pointer="text")
