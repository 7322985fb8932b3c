"""One value, one threshold."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.criteria import SuccessCriterion
from aex_models.faults import Fault
from aex_models.results import CUSTOM_METRIC_FAILED, CriterionError, CriterionResult, Provenance
from aex_outcomes.engine.evaluating import evaluate_criterion
from aex_outcomes.engine.readings import Reading
from tests.libs.outcomes.engine.builders import entry


def evaluated(value: Any, metric_type: str, comparison: str, threshold: Any, **more: Any) -> CriterionResult:
    name = more.pop("metric", "m")
    wanted = SuccessCriterion.model_validate(
        {"metric": name, "metric_type": metric_type, "comparison": comparison, "threshold": threshold, **more}
    )
    return evaluate_criterion(wanted, Reading(value=value), entry(name), required=True, secret=False)


@pytest.mark.parametrize(
    ("value", "metric_type", "comparison", "threshold", "met"),
    [
        (0.9, "accuracy", "gte", 0.9, True),
        (0.9, "accuracy", "gt", 0.9, False),
        (0.9, "accuracy", "lte", 0.9, True),
        (0.9, "accuracy", "lt", 0.9, False),
        (0.0, "accuracy", "gte", 0, True),
        (-3, "numeric", "lt", -2.5, True),
        (0.90009, "accuracy", "eq", 0.9, True),
        (0.90011, "accuracy", "eq", 0.9, False),
        (0.90009, "accuracy", "neq", 0.9, False),
        (0.90011, "accuracy", "neq", 0.9, True),
        (5, "count", "eq", 5, True),
        (5.0, "count", "eq", 5, True),
        (6, "count", "neq", 5, True),
        (500, "latency", "in_range", {"min": 500, "max": 600}, True),
        (600, "latency", "in_range", {"min": 500, "max": 600}, True),
        (600.5, "latency", "in_range", {"min": 500, "max": 600}, False),
        (7, "numeric", "in_range", {"min": 5}, True),
        (7, "numeric", "in_range", {"max": 5}, False),
        (True, "boolean", "eq", True, True),
        (False, "boolean", "eq", True, False),
        (False, "boolean", "neq", True, True),
        (True, "matches_schema", "eq", True, True),
        (True, "matches_schema", "eq", {"type": "object"}, True),
        (False, "matches_schema", "eq", {"type": "object"}, False),
        (False, "matches_schema", "neq", {"type": "object"}, True),
        (1.0, "contains", "contains_all", ["a", "b"], True),
        (0.5, "contains", "contains_all", ["a", "b"], False),
        (0.5, "contains", "contains_any", ["a", "b"], True),
        (0.0, "contains", "contains_any", ["a", "b"], False),
        (0.5, "contains", "gte", 0.5, True),
        (True, "custom", "eq", True, True),
        (2.5, "custom", "gt", 2, True),
    ],
)  # fmt: skip
def test_comparisons(value: Any, metric_type: str, comparison: str, threshold: Any, met: bool) -> None:
    found = evaluated(value, metric_type, comparison, threshold)
    assert found.error is None
    assert found.met is met
    assert found.value == value


@pytest.mark.parametrize(
    ("value", "threshold", "scale", "met"),
    [
        (0.92, 90, None, True),
        (0.92, 0.9, None, True),
        (0.92, 1, None, False),
        (0.009, 0.5, "percent", True),
        (0.9, 90, "percent", True),
        (0.92, 0.95, "fraction", False),
        (0.92, {"min": 0.5, "max": 95}, None, True),
        (0.001, {"min": 0.5, "max": 95}, None, False),
        (0.92, {"min": 0.5, "max": 0.95}, None, True),
        (0.07, {"min": 7, "max": 7}, None, True),
    ],
)
def test_a_percentages_threshold_has_a_scale_and_its_value_none(
    value: float, threshold: Any, scale: str | None, met: bool
) -> None:
    comparison = "in_range" if isinstance(threshold, dict) else "gte"
    found = evaluated(value, "percentage", comparison, threshold, scale=scale)
    assert (found.met, found.value) == (met, value)


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
    ("value", "metric_type", "code"),
    [
        (92, "accuracy", "out_of_range"),
        (1.0000001, "bleu_score", "out_of_range"),
        (-0.1, "rouge_score", "out_of_range"),
        (92, "percentage", "out_of_range"),
        (-1, "latency", "out_of_range"),
        (-1, "count", "out_of_range"),
        (5.5, "count", "out_of_range"),
        (math.nan, "numeric", "not_a_number"),
        (math.inf, "numeric", "not_a_number"),
        (math.inf, "latency", "not_a_number"),
        (-math.inf, "numeric", "not_a_number"),
        (10**400, "numeric", "not_a_number"),
        ("0.95", "accuracy", "not_a_number"),
        (True, "numeric", "not_a_number"),
        (True, "accuracy", "not_a_number"),
        (True, "count", "not_a_number"),
        ([1], "numeric", "not_a_number"),
    ],
)
@pytest.mark.parametrize("comparison", ["gte", "lte", "neq", "eq"])
def test_a_value_that_its_type_rules_out_is_an_error_and_never_met(
    value: Any, metric_type: str, code: str, comparison: str
) -> None:
    found = evaluated(value, metric_type, comparison, 1)
    assert found.error is not None
    assert (found.met, found.value, found.error.code, found.error.fault) == (False, None, code, Fault.AGENT)


@pytest.mark.parametrize("value", [1, 1.0, 0, "true"])
@pytest.mark.parametrize("metric_type", ["boolean", "matches_schema", "custom"])
def test_true_is_not_1(value: Any, metric_type: str) -> None:
    for comparison in ("eq", "neq"):
        found = evaluated(value, metric_type, comparison, True)
        assert found.error is not None
        assert (found.met, found.error.code) == (False, "not_a_boolean")


@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(["gte", "gt", "lte", "lt", "neq"]))
def test_no_value_that_is_not_finite_meets_anything(value: float, comparison: str) -> None:
    if not math.isfinite(value):
        assert not evaluated(value, "numeric", comparison, 0).met


def test_the_catalogues_range_rules_out_what_the_type_does_not() -> None:
    wanted = SuccessCriterion.model_validate(
        {"metric": "accuracy", "metric_type": "numeric", "comparison": "gte", "threshold": 0.9}
    )
    found = evaluate_criterion(wanted, Reading(value=92), entry("accuracy", range=(0, 1)), required=True, secret=True)
    assert found.error is not None
    assert found.error.code == "out_of_range"


@pytest.mark.parametrize(
    ("provenance", "fault"), [("computed", "agent"), ("self_reported", "agent"), ("measured", "platform")]
)
def test_a_missing_metric_is_the_agents_fault_unless_the_platform_measures_it(provenance: str, fault: str) -> None:
    wanted = SuccessCriterion.model_validate(
        {"metric": "m", "metric_type": "numeric", "comparison": "lte", "threshold": 5, "penalty": "1"}
    )
    described = entry("m", provenance=Provenance(provenance))
    found = evaluate_criterion(wanted, Reading(), described, required=True, secret=False)
    assert found.error == CriterionError(code="metric_missing", message="m is missing", fault=Fault(fault))
    assert (found.met, found.value, float(found.penalty)) == (False, None, 1.0)
