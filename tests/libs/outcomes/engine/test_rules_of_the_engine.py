from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_outcomes import VerificationEngine
from tests.libs.outcomes.engine.builders import SAMPLES
from tests.libs.outcomes.engine.stories import Story, comparable_fields, one, sample

LONG = one("output_length", "count", "gte", 1, bonus="3")
UNREACHED = one("word_count", "count", "gte", 99, penalty="1")
TERMS = "contains_keywords"
CODE = """
def evaluate(input, output, metadata):
    return {"metrics": {"mine": 2, "output_length": 10**6, "latency_ms": 1, "accuracy": 1.0}}
"""
OWN_CODE = {"evaluation": {"custom_metrics": [{"name": "mine", "code": CODE}]}}


def _latency(comparison: str, threshold: Any) -> Story:
    return Story(
        f"a missing duration_ms never meets latency {comparison}",
        [one("latency_ms", "latency", comparison, threshold, penalty="2")],
        {"verdict": "rejected", "met": [False], "codes": ["metric_missing"], "values": [None], "penalty": 2},
        more={"execution_metadata": {"ttfb_ms": 1}},
    )


def _accuracy(metric_type: str) -> Story:
    return Story(
        f"accuracy 92 does not meet at least 0.9 as {metric_type}",
        [one("shouting", metric_type, "gte", 0.9)],
        {"verdict": "rejected", "met": [False], "codes": ["out_of_range"], "values": [None]},
        config=sample(92, types=[metric_type], range=(0, 1)),
    )


def _terms(says: str, comparison: str, terms: list[str], met: bool, output: Any = None) -> Story:
    output = {"text": "The CAT sat on\nthe mat.", "label": "dog"} if output is None else output
    return Story(f"keywords: {says}", [one(TERMS, "contains", comparison, terms)], {"met": [met]}, output=output)


STORIES = [
    *(_latency(comparison, 500) for comparison in ("lte", "lt", "gte", "gt", "neq", "eq")),
    _latency("in_range", {"max": 500}),
    Story(
        "a missing required metric fails all",
        [LONG, one("accuracy", "accuracy", "gte", 0.0)],
        {"verdict": "rejected", "met": [True, False], "codes": [None, "metric_missing"], "bonus": 0},
        more={"evaluation": {"ground_truth": ["a"]}},
    ),
    Story(
        "a metric that is not required and missing does not fail all",
        [LONG, one("latency_ms", "latency", "lte", 5, required=False)],
        {"verdict": "passed", "met": [True, False], "bonus": 3},
    ),
    Story(
        "a missing heavy metric lowers a weighted score",
        [LONG, one("latency_ms", "latency", "lte", 500, weight=9)],
        {"verdict": "rejected", "score": 0.1},
        combined={"aggregation": "weighted", "minimum_weighted_score": 0.5},
    ),
    Story(
        "a required criterion that is unmet fails a weighted outcome whatever its score",
        [LONG | {"weight": 99}, UNREACHED | {"required": True}],
        {"verdict": "rejected", "score": 0.99},
        combined={"aggregation": "weighted", "minimum_weighted_score": 0.5},
    ),
    Story(
        "a required criterion that is unmet fails any",
        [LONG, UNREACHED | {"required": True}],
        {"verdict": "rejected", "met": [True, False]},
        combined={"aggregation": "any"},
    ),
    Story(
        "minimum_weighted_score 0.0 is respected",
        [UNREACHED],
        {"verdict": "passed", "success": True, "score": 0.0, "penalty": 1},
        combined={"aggregation": "weighted", "minimum_weighted_score": 0.0},
    ),
    Story(
        "weights that are written as decimals reach a minimum that is",
        [LONG | {"weight": 0.7}, one("word_count", "count", "gte", 1, weight=0.1), UNREACHED | {"weight": 0.2}],
        {"verdict": "passed", "score": 0.8},
        combined={"aggregation": "weighted", "minimum_weighted_score": 0.8},
    ),
    Story(
        "no bonus on a failed outcome under on_success",
        [LONG, UNREACHED],
        {"verdict": "rejected", "met": [True, False], "bonus": 0, "penalty": 1},
    ),
    Story(
        "a bonus on a failed outcome under per_criterion",
        [LONG, UNREACHED],
        {"verdict": "rejected", "bonus": 3, "penalty": 1},
        combined={"bonus_policy": "per_criterion"},
    ),
    *(_accuracy(each) for each in ("accuracy", "f1_score", "percentage", "numeric")),
    _terms("they come from the threshold", "contains_all", ["cat", "mat"], True),
    _terms("all of them are needed for contains_all", "contains_all", ["cat", "dog"], False),
    _terms("one of them is enough for contains_any", "contains_any", ["dog", "mat"], True),
    _terms("a part of a word is none", "contains_any", ["ca", "at", "he"], False),
    _terms("white space is one blank", "contains_all", ["on the"], True),
    _terms("other fields of the output do not count", "contains_any", ["dog", "label"], False),
    _terms("JSON keys do not count", "contains_any", ["cat"], False, {"text": "nothing", "cat": "nothing"}),
    _terms("without a text nothing is found", "contains_any", ["cat"], False, {"cat": "cat"}),
    Story(
        "keywords: those of the evaluation count where the threshold is a share",
        [one(TERMS, "contains", "gte", 0.5), one(TERMS, "contains", "contains_all", ["sat"])],
        {"met": [True, True], "values": [0.5, 1.0], "verdict": "passed"},
        more={"evaluation": {"required_keywords": ["mat", "dog"]}},
    ),
    Story(
        "custom code cannot overwrite a built-in metric",
        [
            one("custom.mine", "custom", "eq", 2),
            one("output_length", "count", "lte", 100),
            one("latency_ms", "latency", "lte", 500, required=False),
            one("custom.mine.output_length", "custom", "eq", 10**6),
        ],
        {
            "met": [True, True, False, True],
            "codes": [None, None, "metric_missing", None],
            "values": [2, 23, None, 10**6],
            "verdict": "passed",
        },
        more=OWN_CODE,
    ),
    Story(
        "an extractor that answers for others changes nothing of theirs",
        [one("meddled", "numeric", "eq", 1), one("output_length", "count", "eq", 23)],
        {"met": [True, True], "metrics": {"meddled": 1, "output_length": 23}},
        config={"extractors": {"a_meddler": {"class": f"{SAMPLES}:Meddling"}}},
    ),
    Story(
        "the label true is not the label 1",
        [one("accuracy", "accuracy", "gt", 0)],
        {"met": [False], "values": [0.0], "codes": [None]},
        output=[True, False],
        more={"evaluation": {"ground_truth": [1, 0]}},
    ),
    Story(
        "evaluation data that are absent are not the agent's fault",
        [one("rougeL", "rouge_score", "gte", 0.1, penalty="1")],
        {"verdict": "indeterminate", "codes": ["evaluation_missing"], "faults": ["platform"], "penalty": 0},
    ),
    Story(
        "what the platform alone can measure is not the agent's fault",
        [one("platform_latency_ms", "latency", "lte", 1, penalty="1")],
        {"verdict": "indeterminate", "codes": ["metric_missing"], "faults": ["platform"], "penalty": 0},
        more={"execution_metadata": {"platform_latency_ms": 0}},
    ),
]


@pytest.mark.parametrize("story", [pytest.param(each, id=each.says) for each in STORIES])
async def test_the_engine_keeps_to_the_rule_that(story: Story) -> None:
    found = comparable_fields(await story.verdict())
    assert {name: found[name] for name in story.expected} == dict(story.expected)


@pytest.mark.parametrize(("cap", "paid"), [(None, 3), ("0", 0), ("2", 2)])
async def test_a_bonus_cap_of_0_is_a_cap_and_none_is_none(cap: str | None, paid: int) -> None:
    found = await Story("", [LONG], {}).verdict()
    terms = Terms(cpc_rate=Decimal(1), max_cpa_total=None if cap is None else Decimal(cap))
    assert (float(found.bonus), float(cost(terms, found).bonus)) == (3, paid)


async def test_invalid_criteria_are_refused_before_anything_is_judged() -> None:
    with pytest.raises(ValidationError, match="criteria"):
        await VerificationEngine().verify(
            contract_id="ctr_1", work_input={}, work_output={"text": "abc"}, success_criteria={"criteria": []}
        )
