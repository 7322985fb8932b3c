from typing import Any

import pytest

from aex_models.contract import ExecutionMetadata
from aex_outcomes import VerificationEngine
from aex_outcomes.catalog import InvalidMetricType, TooManyCriteria, UnknownMetric
from aex_outcomes.config import InvalidConfig
from tests.libs.outcomes.engine.builders import criteria, criterion, lengths, verify


async def test_an_unknown_metric_is_refused_by_name() -> None:
    with pytest.raises(UnknownMetric, match=r"^Unknown metric: nope$"):
        await verify(criteria(criterion("nope", "gte", 1)), {})


class Untouched(dict[str, Any]):
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was used")

    def __getitem__(self, key: str) -> Any:
        raise AssertionError(f"{key} was read")


@pytest.mark.parametrize(
    ("metric", "metric_type", "message"),
    [
        ("rougeL", "latency", r"^Invalid metric_type for metric: rougeL \(takes rouge_score, percentage, numeric\)$"),
        ("custom.score", "accuracy", r"^Invalid metric_type for metric: custom\.score \(takes custom, numeric, "),
    ],
)
async def test_a_metric_taken_for_what_it_is_not_is_refused_before_anything_is_read(
    metric: str, metric_type: str, message: str
) -> None:
    expected = criteria(criterion("output_length"), criterion(metric, "gte", 0.5, metric_type=metric_type))
    with pytest.raises(InvalidMetricType, match=message):
        await verify(expected, Untouched(text="a"))


async def test_more_criteria_than_the_configuration_takes_are_refused() -> None:
    with pytest.raises(TooManyCriteria, match=r"^At most 10 criteria are allowed; these are 11$"):
        await verify(lengths(*range(11)), Untouched(text="a"))
    roomy = VerificationEngine({"verification": {"max_criteria_per_task": 11}})
    assert (await verify(lengths(*range(11)), {"text": "a" * 10}, engine=roomy)).success


def test_a_configuration_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="colour"):
        VerificationEngine({"colour": "red"})


async def test_criteria_can_be_given_as_a_mapping_and_metadata_as_a_model() -> None:
    given = {"criteria": [{"metric": "latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 5}]}
    found = await VerificationEngine().verify(
        contract_id="c", work_input={}, work_output=None, success_criteria=given,
        execution_metadata=ExecutionMetadata(duration_ms=4),
    )  # fmt: skip
    assert found.success
