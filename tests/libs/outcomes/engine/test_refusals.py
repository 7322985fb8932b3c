from typing import Any

import pytest

from aex_models.contract import ExecutionMetadata
from aex_models.criteria import SuccessCriterion
from aex_outcomes import VerificationEngine
from aex_outcomes.catalog import InvalidMetricType, TooManyCriteria, UnknownMetric
from tests.libs.outcomes.engine.builders import criteria, criterion, lengths, verify


class Untouched(dict[str, Any]):
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was used")

    def __getitem__(self, key: str) -> Any:
        raise AssertionError(f"{key} was read")


@pytest.mark.parametrize(
    ("named", "refusal", "message"),
    [
        (criterion("nope"), UnknownMetric, r"^Unknown metric: nope$"),
        (criterion("rougeL", threshold=0.5, metric_type="latency"), InvalidMetricType,
         r"^Invalid metric_type for metric: rougeL \(takes rouge_score, percentage, numeric\)$"),
        (criterion("custom.score", threshold=0.5, metric_type="accuracy"), InvalidMetricType,
         r"^Invalid metric_type for metric: custom\.score \(takes custom, numeric, "),
    ],
)  # fmt: skip
async def test_a_metric_unknown_or_of_another_type_is_refused_before_anything_is_read(
    named: SuccessCriterion, refusal: type[Exception], message: str
) -> None:
    with pytest.raises(refusal, match=message):
        await verify(criteria(criterion(), named), Untouched(text="a"))


async def test_more_criteria_than_the_configuration_takes_are_refused() -> None:
    with pytest.raises(TooManyCriteria, match=r"^At most 10 criteria are allowed; these are 11$"):
        await verify(lengths(*range(11)), Untouched(text="a"))
    roomy = VerificationEngine({"verification": {"max_criteria_per_task": 11}})
    assert (await verify(lengths(*range(11)), {"text": "a" * 10}, engine=roomy)).success


async def test_criteria_can_be_given_as_a_mapping_and_metadata_as_a_model() -> None:
    given = {"criteria": [{"metric": "latency_ms", "metric_type": "latency", "comparison": "lte", "threshold": 5}]}
    found = await VerificationEngine().verify(
        contract_id="c", work_input={}, work_output=None, success_criteria=given,
        execution_metadata=ExecutionMetadata(duration_ms=4),
    )  # fmt: skip
    assert found.success
