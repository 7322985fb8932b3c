"""Impossible times are held; slow agents are honest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.config import load_rule_configs
from aex_governance.rules.latency_impossible import RULE
from aex_models.governance import Action, Flag
from tests.services.governance.requests import case

THRESHOLDS = load_rule_configs()[RULE.name].thresholds
TIMES = st.floats(0, 1e7)


def flag_of(platform_ms: float | None, **metadata: Any) -> Flag | None:
    return RULE.check(
        case(execution_metadata=metadata, platform_latency_ms=platform_ms, extracted_metrics={}), THRESHOLDS
    )


@pytest.mark.parametrize(
    ("platform_ms", "metadata", "problem"),
    [
        (2000.0, {"duration_ms": 3000.5}, "duration_ms exceeds what the platform measured"),
        (0.0, {"duration_ms": 60_000}, "duration_ms exceeds what the platform measured"),
        (2000.0, {"processing_ms": 9000}, "processing_ms exceeds what the platform measured"),
        (5000.0, {"duration_ms": 900, "ttfb_ms": 950}, "ttfb_ms exceeds duration_ms"),
        (None, {"duration_ms": 900, "ttfb_ms": 950}, "ttfb_ms exceeds duration_ms"),
        (None, {"duration_ms": 900, "processing_ms": 5000}, "processing_ms exceeds duration_ms"),
    ],
)
def test_impossible_times_are_held(platform_ms: float | None, metadata: dict[str, Any], problem: str) -> None:
    flag = flag_of(platform_ms, **metadata)
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.HOLD
    assert flag.evidence["problems"] == [problem]
    assert flag.evidence["reported"] == metadata
    assert flag.evidence["platform_latency_ms"] == platform_ms


@pytest.mark.parametrize(
    ("platform_ms", "metadata"),
    [
        (2000.0, {"duration_ms": 3000}),  # exactly the slack
        (86_400_000.0, {"duration_ms": 86_000_000, "ttfb_ms": 80_000_000}),  # slow
        (None, {"duration_ms": 1e12}),  # not measured
        (500.0, {"duration_ms": 400.2, "ttfb_ms": 400.9}),  # rounded
        (500.0, {"duration_ms": 300, "processing_ms": 900}),  # on several cores
        (500.0, {}),
        (500.0, {"model": "large", "ttfb_ms": 40}),
    ],
)
def test_possible_times_are_allowed(platform_ms: float | None, metadata: dict[str, Any]) -> None:
    assert flag_of(platform_ms, **metadata) is None


@pytest.mark.parametrize(
    "value", ["nine", "", "0x9", "9 s", None, True, [9e9], {"ms": 9e9}, float("nan"), float("inf"), 10**400]
)
def test_invalid_numbers_are_not_compared(value: Any) -> None:
    assert flag_of(10.0, duration_ms=value, ttfb_ms=value, processing_ms=value) is None
    assert flag_of(10.0, duration_ms=5, ttfb_ms=value) is None


@pytest.mark.parametrize("source", ["extracted_metrics", "claimed_metrics", "execution_metadata"])
@pytest.mark.parametrize("name", ["latency_ms", "time_to_first_byte", "processing_time"])
def test_metrics_supply_times_that_metadata_lack(source: str, name: str) -> None:
    fields = {"extracted_metrics": {}, "claimed_metrics": {}, source: {name: 60_000.0}}
    flag = RULE.check(case(**fields, platform_latency_ms=2000.0), THRESHOLDS)
    assert flag is not None
    assert (flag.evidence["reported"], flag.evidence["reported_in"]) == ({name: 60_000.0}, {name: source})
    fields["execution_metadata"] = {"duration_ms": 1000, "ttfb_ms": 20, "processing_ms": 900}
    if source != "execution_metadata":
        assert RULE.check(case(**fields, platform_latency_ms=2000.0), THRESHOLDS) is None


@pytest.mark.parametrize(
    "metadata",
    [{"duration_ms": "60000"}, {"total_ms": 60_000}, {"latency_ms": "6e4"}, {"time_to_first_byte_ms": 60_000}],
)
def test_other_names_and_text_numbers_are_read(metadata: dict[str, Any]) -> None:
    assert flag_of(2000.0, **metadata) is not None


@given(TIMES, st.floats(0, 1), st.floats(0, 1))
def test_consistent_times_are_honest(platform_ms: float, one: float, other: float) -> None:
    duration = platform_ms * one
    assert flag_of(platform_ms, duration_ms=duration, ttfb_ms=duration * other, processing_ms=duration * other) is None
