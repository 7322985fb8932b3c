"""Impossible values are rejected; possible ones, with rounding, are allowed."""

from typing import Any

import pytest

from aex_governance.rules.config import load_rule_configs
from aex_governance.rules.metric_out_of_bounds import RULE, MetricBounds
from aex_models.governance import Action
from aex_outcomes.catalog import Catalog
from tests.services.governance.requests import case

THRESHOLDS = load_rule_configs()[RULE.name].thresholds
BOUNDS: dict[str, tuple[float | None, float | None]] = THRESHOLDS["bounds"]


IMPOSSIBLE: dict[str, float] = {
    **dict.fromkeys(["duration_ms", "ttfb_ms", "processing_ms", "latency", "p95_latency_ms", "token_count"], -5),
    **dict.fromkeys(["custom.error_count", "prediction_count", "num_tokens", "custom.total_latency_ms"], -2),
    **dict.fromkeys(["stat.p_value", "stat.group_p_value", "success_rate", "keyword_coverage", "top5_accuracy"], 1.7),
    **dict.fromkeys(["f1", "macro_f1", "bleu", "BLEU", "rouge_l", "rouge_1", "rougeLsum", "recall_at_10"], 1.2),
    **dict.fromkeys(["stat.pearson_r", "stat.dose_pearson_r", "spearman_rho"], 1.5),
}
HONEST: dict[str, float] = {
    **dict.fromkeys(["custom.latency_delta_ms", "clock_skew_ms", "custom.net_count", "latency_score", "log_count"], -5),
    **dict.fromkeys(["custom.accuracy", "accuracy_percent", "accuracy_count", "custom.f1_points"], 92),
    **dict.fromkeys(["heart_rate", "odds_ratio", "sequencing_coverage", "roc_value", "numeric_precision"], 30),
    **dict.fromkeys(["stat.n_p_value", "stat.mean_r", "stat.neg_log_p_value", "cap_value"], 7),
    **dict.fromkeys(["growth_rate", "custom.anything", "stat.slope_latency", "custom.wind_ms", "a.b_count"], -0.3),
}


def raised(metrics: dict[str, Any]) -> bool:
    return RULE.check(case(extracted_metrics=metrics), THRESHOLDS) is not None


@pytest.mark.parametrize(
    "metrics",
    [
        *({"accuracy": 92}, {"confidence": 1.01}, {"rougeL": -0.1}, {"rouge5": 1.5}, {"latency_ms": -1}),
        *({"platform_latency_ms": -0.5}, {"output_length": -5}, {"scientific_validity": 2}, {"num_steps": -3}),
        *({"value_mismatches": -1}, {"accuracy": 10**400}, {"rougeL": None}, {"custom.profit": None}),
    ],
)
def test_impossible_value_is_rejected(metrics: dict[str, Any]) -> None:
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
        *({"accuracy": 1}, {"accuracy": 0.0}, {"f1_score": 1.0000000000000002}, {"rougeL": -1e-17}),
        *({"latency_ms": 1e12}, {"stat.mean": -7.5}, {"custom.profit": -3e9}, {"ok": True}, {"ok": False}),
    ],
)
def test_possible_values_are_allowed(metrics: dict[str, Any]) -> None:
    assert not raised(metrics)


@pytest.mark.parametrize(("name", "value"), IMPOSSIBLE.items())
def test_unambiguous_names_have_bounds_by_pattern(name: str, value: float) -> None:
    flag = RULE.check(case(extracted_metrics={name: value}), THRESHOLDS)
    assert flag is not None
    assert flag.evidence["metrics"][name]["source"] == "extracted"
    claimed = RULE.check(case(claimed_metrics={name: value}), THRESHOLDS)
    assert claimed is not None
    assert claimed.evidence["metrics"][name]["source"] == "claimed"
    assert f"{name} (claimed)" in claimed.message


@pytest.mark.parametrize(("name", "value"), HONEST.items())
def test_ambiguous_names_have_no_bounds(name: str, value: float) -> None:
    assert not raised({name: value})
    assert RULE.check(case(claimed_metrics={name: value}), THRESHOLDS) is None


@pytest.mark.parametrize("name", ["duration_ms", "ttfb_ms", "processing_ms", "time_to_first_byte"])
@pytest.mark.parametrize("value", [-5, "-5"])
def test_negative_times_are_rejected(name: str, value: float | str) -> None:
    flag = RULE.check(case(execution_metadata={name: value, "timezone_offset_ms": -5}), THRESHOLDS)
    assert flag is not None
    figures = flag.evidence["metrics"]
    assert {each: figure["source"] for each, figure in figures.items()} == {name: "execution_metadata"}
    assert RULE.check(case(platform_latency_ms=-5), THRESHOLDS) is not None


def test_most_specific_bounds_apply() -> None:
    bounds: dict[str, list[float | None]] = {"*_ms": [0, None], "*_skip_ms": [None, None], "one_ms": [-9, None]}
    found = MetricBounds(bounds, (), ())
    assert found.find_violation("a_ms", -5, 0) == {"least": 0, "most": None, "bounds_of": "*_ms"}
    assert found.find_violation("a_skip_ms", -5, 0) is None
    assert found.find_violation("one_ms", -5, 0) is None
    assert found.find_violation("custom.a_ms", -5, 0) is None


@pytest.mark.parametrize("entry", Catalog.of().entries, ids=lambda entry: entry.name)
def test_bounds_match_the_catalogue(entry: Any) -> None:
    assert tuple(BOUNDS.get(entry.name, (None, None))) == entry.range


def test_operator_bounds_a_custom_metric() -> None:
    thresholds = {**THRESHOLDS, "bounds": {"custom.share": [0, 1]}}
    assert RULE.check(case(extracted_metrics={"custom.share": 3}), thresholds) is not None
