"""Scores of rankings."""

import math
from typing import Any

import pytest

from aex_outcomes import AgentFault, RankingExtractor
from tests.libs.outcomes.engine.builders import criteria, criterion, verify

NAMES = ["precision_at_k", "recall_at_k", "mrr", "ndcg_at_k", "average_precision"]


async def extract(ranking: Any, delivered: Any, **more: Any) -> dict[str, Any]:
    return dict(await RankingExtractor().extract({"ranking": {**ranking, **more}}, {"ranking": delivered}, {}))


async def test_the_second_of_two_items_is_relevant() -> None:
    found = await extract({"relevance": {"a": 1}}, ["x", "a"])
    assert list(found.values()) == pytest.approx([0.1, 1, 0.5, 1 / math.log2(3), 0.5])
    assert list(found) == NAMES == RankingExtractor().supported_metrics()


@pytest.mark.parametrize(
    "delivered", [["b", "a"], [{"id": "b", "score": 1}, {"id": "a", "score": 9}], ["b", {"id": "a"}]]
)
async def test_items_are_ids_or_objects_in_their_order(delivered: Any) -> None:
    found = await extract({"relevance": {"a": 1, "b": 3, "c": 0}, "k": 2}, delivered)
    assert list(found.values()) == [1, 1, 1, 1, 1]


async def test_an_integral_id_is_the_name_in_relevance() -> None:
    assert (await extract({"relevance": {"7": 1}}, [7.0]))["mrr"] == 1
    assert (await extract({"relevance": {7: 1}}, ["7"]))["mrr"] == 1


async def test_an_empty_ranking_scores_0() -> None:
    assert list((await extract({"relevance": {"a": 1}}, [])).values()) == [0] * 5


async def test_mrr_and_average_precision_read_the_complete_ranking() -> None:
    found = await extract({"relevance": {"a": 1}, "k": 1}, ["x", "y", "a"])
    assert list(found.values()) == pytest.approx([0, 0, 1 / 3, 0, 1 / 3])


@pytest.mark.parametrize(
    ("delivered", "code"),
    [
        ("a", "invalid_ranking"),
        ({"id": "a"}, "invalid_ranking"),
        (["a", None], "invalid_ranking"),
        (["a", True], "invalid_ranking"),
        (["a", 1.5], "invalid_ranking"),
        (["a", {"name": "b"}], "invalid_ranking"),
        (["a", ["b"]], "invalid_ranking"),
        (["a", "b", {"id": "a"}], "duplicate_id"),
        ([7, "7"], "duplicate_id"),
    ],
)
async def test_other_outputs_are_the_agents_fault(delivered: Any, code: str) -> None:
    with pytest.raises(AgentFault) as raised:
        await extract({"relevance": {"a": 1}}, delivered)
    assert raised.value.code == code


@pytest.mark.parametrize("output", [{}, {"ranking": None}, None])
async def test_without_a_ranking_there_is_no_score(output: Any) -> None:
    assert await RankingExtractor().extract({"ranking": {"relevance": {"a": 1}}}, output, {}) == {}
    assert await RankingExtractor().extract({}, {"ranking": ["a"]}, {}) == {}


async def test_rankings_lie_where_the_name_the_data_or_the_configuration_say() -> None:
    def data(item: str, **more: Any) -> dict[str, Any]:
        return {"relevance": {item: 1}, **more}

    evaluation = {
        "ranking": data("a", at="/own"),
        "named": {"one": {"ranking": data("b"), "at": "/one"}, "two": {"ranking": data("c", at="/two")}},
    }
    listed = [criterion(f"mrr{name}", "gte", 1) for name in ("", ".one", ".two")]
    found = await verify(criteria(*listed), {"own": ["a"], "one": ["b"], "two": ["c"]}, evaluation=evaluation)
    assert [each.value for each in found.criterion_results] == [1, 1, 1]
    configured = RankingExtractor(ranking_pointer="/rows")
    assert (await configured.extract({"ranking": data("a")}, {"rows": ["a"]}, {}))["mrr"] == 1


@pytest.mark.parametrize("relevance", [{"a": 0, "b": 0}, {"a": 0}])
def test_relevance_without_a_relevant_item_is_a_problem(relevance: Any) -> None:
    [only] = RankingExtractor().check_evaluation({"ranking": {"relevance": relevance}})
    assert (only.path, only.code) == ("/ranking/relevance", "nothing_relevant")


@pytest.mark.parametrize(
    "ranking", [None, 5, {}, {"relevance": {}}, {"relevance": {"a": 1}}, {"relevance": {"a": True}}]
)
def test_valid_data_have_no_problem_and_malformed_data_are_left_to_the_model(ranking: Any) -> None:
    assert [*RankingExtractor().check_evaluation({"ranking": ranking})] == []
