from typing import Any

import pytest

from aex_models.criteria import SuccessCriterion
from aex_models.examination import Fault
from aex_models.results import CUSTOM_METRIC_FAILED, CriterionError, CriterionResult, Provenance
from aex_outcomes.engine.criteria import evaluate_criterion
from aex_outcomes.engine.extraction_plan import Reading
from tests.libs.outcomes.engine.builders import entry


def evaluated(value: Any, metric_type: str, comparison: str, threshold: Any, **more: Any) -> CriterionResult:
    name = more.pop("metric", "m")
    expected = SuccessCriterion.model_validate(
        {"metric": name, "metric_type": metric_type, "comparison": comparison, "threshold": threshold, **more}
    )
    return evaluate_criterion(expected, Reading(value=value), entry(name), position=0, required=True, secret=False)


@pytest.mark.parametrize(
    ("value", "metric_type", "comparison", "threshold", "met"),
    [
        (True, "matches_schema", "eq", {"type": "object"}, True),
        (False, "matches_schema", "eq", {"type": "object"}, False),
        (False, "matches_schema", "neq", {"type": "object"}, True),
        (1.0, "contains", "contains_all", ["a", "b"], True),
        (0.5, "contains", "contains_all", ["a", "b"], False),
        (0.5, "contains", "contains_any", ["a", "b"], True),
        (0.0, "contains", "contains_any", ["a", "b"], False),
        (True, "custom", "eq", True, True),
    ],
)  # fmt: skip
def test_terms_schemas_and_custom_values_are_compared(
    value: Any, metric_type: str, comparison: str, threshold: Any, met: bool
) -> None:
    found = evaluated(value, metric_type, comparison, threshold)
    assert found.error is None
    assert found.met is met
    assert found.value == value


def test_a_custom_metrics_value_in_percent_is_rescaled() -> None:
    found = evaluated(92, "percentage", "gte", 90, scale="percent", metric="custom.share")
    assert (found.met, found.value) == (True, 0.92)
    assert evaluated(92, "percentage", "gte", 90, scale="percent").error is not None


@pytest.mark.parametrize(
    ("value", "threshold", "read", "met"),
    [
        (95, 90, 0.95, True),
        (0.95, 90, 0.0095, False),
        (0.95, 0.9, 0.95, True),
        (1, 1, 1, True),
        (1, 1.5, 0.01, False),
        (95, {"min": 0.5, "max": 96}, 0.95, True),
        (0.4, {"min": 0.5, "max": 96}, 0.004, False),
        (0.7, {"min": 0.5, "max": 1}, 0.7, True),
    ],
)
def test_without_a_scale_a_custom_value_is_read_on_that_of_its_threshold(
    value: float, threshold: Any, read: float, met: bool
) -> None:
    comparison = "in_range" if isinstance(threshold, dict) else "gte"
    found = evaluated(value, "percentage", comparison, threshold, metric="custom.q")
    assert found.value == pytest.approx(read)
    assert (found.error, found.met) == (None, met)


@pytest.mark.parametrize(("value", "threshold"), [(95, 0.9), (100.5, 90), (-1, 90)])
def test_a_custom_percentage_beyond_its_scale_is_an_error(value: float, threshold: float) -> None:
    found = evaluated(value, "percentage", "gte", threshold, metric="custom.q")
    assert found.error is not None
    assert (found.error.code, found.met) == (CUSTOM_METRIC_FAILED, False)


@pytest.mark.parametrize(
    ("provenance", "fault"), [("computed", "agent"), ("self_reported", "agent"), ("measured", "platform")]
)
def test_a_missing_metric_is_the_agents_fault_unless_the_platform_measures_it(provenance: str, fault: str) -> None:
    expected = SuccessCriterion.model_validate(
        {"metric": "m", "metric_type": "numeric", "comparison": "lte", "threshold": 5, "penalty": "1"}
    )
    described = entry("m", provenance=Provenance(provenance))
    found = evaluate_criterion(expected, Reading(), described, position=0, required=True, secret=False)
    assert found.error == CriterionError(code="metric_missing", message="m is missing", fault=Fault(fault))
    assert (found.met, found.value, float(found.penalty)) == (False, None, 1.0)
