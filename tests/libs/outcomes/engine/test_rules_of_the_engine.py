import pytest
from pydantic import ValidationError

from aex_outcomes import VerificationEngine
from tests.libs.outcomes.engine.builders import SAMPLES
from tests.libs.outcomes.engine.stories import Story, comparable_fields, one, sample

LONG = one("output_length", "count", "gte", 1, bonus="3")
UNREACHED = one("word_count", "count", "gte", 99, penalty="1")
CODE = """
def evaluate(input, output, metadata):
    return {"metrics": {"mine": 2, "output_length": 10**6, "latency_ms": 1, "accuracy": 1.0}}
"""
OWN_CODE = {"evaluation": {"custom_metrics": [{"name": "mine", "code": CODE}]}}


STORIES = [
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
        "a value beyond the range of its metric meets nothing",
        [one("shouting", "numeric", "gte", 0.9)],
        {"verdict": "rejected", "met": [False], "codes": ["out_of_range"], "values": [None]},
        config=sample(92, types=["numeric"], range=(0, 1)),
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
        "evaluation data that are absent are not the agent's fault",
        [one("rougeL", "rouge_score", "gte", 0.1, penalty="1")],
        {"verdict": "indeterminate", "codes": ["evaluation_missing"], "faults": ["platform"], "penalty": 0},
    ),
]


@pytest.mark.parametrize("story", [pytest.param(each, id=each.says) for each in STORIES])
async def test_the_engine_keeps_to_the_rule_that(story: Story) -> None:
    found = comparable_fields(await story.verdict())
    assert {name: found[name] for name in story.expected} == dict(story.expected)


async def test_invalid_criteria_are_refused_before_anything_is_judged() -> None:
    with pytest.raises(ValidationError, match="criteria"):
        await VerificationEngine().verify(
            contract_id="ctr_1", work_input={}, work_output={"text": "abc"}, success_criteria={"criteria": []}
        )
