"""Impossible values are rejected; possible ones, a hair of rounding included, are left alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.config import load_rules
from aex_governance.rules.metric_out_of_bounds import RULE
from aex_models.governance import Action, Severity
from aex_outcomes.catalog import Catalog
from tests.services.governance.asking import case

THRESHOLDS = load_rules()[RULE.name].thresholds
BOUNDS: dict[str, tuple[float | None, float | None]] = THRESHOLDS["bounds"]


def raised(metrics: dict[str, Any]) -> bool:
    return RULE.check(case(extracted_metrics=metrics), THRESHOLDS) is not None


@pytest.mark.parametrize(
    "metrics",
    [
        {"accuracy": 92},
        {"confidence": 1.01},
        {"rougeL": -0.1},
        {"rouge5": 1.5},
        {"latency_ms": -1},
        {"platform_latency_ms": -0.5},
        {"output_length": -5},
        {"scientific_validity": 2},
        {"review_confidence": -1},
        {"value_mismatches": -1},
        {"num_steps": -3},
        {"accuracy": 10**400},
        {"rougeL": None},
        {"custom.profit": None},
    ],
)
def test_impossible_values_are_rejected_with_the_value_and_its_bounds(metrics: dict[str, Any]) -> None:
    flag = RULE.check(case(extracted_metrics={"accuracy": 0.5, **metrics}), THRESHOLDS)
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.REJECT
    [(name, value)] = metrics.items()
    assert set(flag.evidence["metrics"]) == {name}
    assert flag.evidence["metrics"][name]["value"] == value
    assert name in flag.message


@pytest.mark.parametrize(
    "metrics",
    [
        {"accuracy": 1},
        {"accuracy": 0.0},
        {"f1_score": 1.0000000000000002},
        {"rougeL": -1e-17},
        {"latency_ms": 1e12},
        {"stat.mean": -7.5},
        {"custom.profit": -3e9},
        {"mean_return": -20.5},
        {"energy": -1e6},
        {"ok": True},
        {"values_plausible": False},
    ],
)
def test_possible_values_are_left_alone(metrics: dict[str, Any]) -> None:
    assert not raised(metrics)


@pytest.mark.parametrize("entry", Catalog.of().entries, ids=lambda entry: entry.name)
def test_every_metric_of_the_catalogue_has_the_bounds_that_it_has_there(entry: Any) -> None:
    assert tuple(BOUNDS.get(entry.name, (None, None))) == entry.range


@given(st.sampled_from(sorted(BOUNDS)), st.floats(0, 1e9), st.floats(0, 1e9))
def test_who_is_further_out_is_not_let_in(name: str, near: float, further: float) -> None:
    least, most = BOUNDS[name]
    for edge, sign in ((least, -1), (most, 1)):
        if edge is not None and raised({name: edge + sign * near}):
            assert raised({name: edge + sign * (near + further)})


def test_an_operator_may_bound_a_metric_of_their_own() -> None:
    thresholds = {**THRESHOLDS, "bounds": {"custom.share": [0, 1]}}
    flag = RULE.check(case(extracted_metrics={"custom.share": 3}), thresholds)
    assert flag is not None
    assert flag.severity is Severity.CRITICAL
