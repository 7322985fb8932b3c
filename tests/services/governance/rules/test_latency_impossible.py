"""Times that cannot be are held; slow agents are honest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.config import load_rules
from aex_governance.rules.latency_impossible import RULE
from aex_models.governance import Action, Flag
from tests.services.governance.asking import case

THRESHOLDS = load_rules()[RULE.name].thresholds
TIMES = st.floats(0, 1e7)


def flag_of(platform_ms: float | None, **metadata: Any) -> Flag | None:
    return RULE.check(case(execution_metadata=metadata, platform_latency_ms=platform_ms), THRESHOLDS)


@pytest.mark.parametrize(
    ("platform_ms", "metadata", "problem"),
    [
        (2000.0, {"duration_ms": 3000.5}, "duration_ms exceeds what the platform measured"),
        (0.0, {"duration_ms": 60_000}, "duration_ms exceeds what the platform measured"),
        (2000.0, {"ttfb_ms": 9000}, "ttfb_ms exceeds what the platform measured"),
        (2000.0, {"processing_ms": 9000}, "processing_ms exceeds what the platform measured"),
        (5000.0, {"duration_ms": 900, "ttfb_ms": 950}, "ttfb_ms exceeds duration_ms"),
        (None, {"duration_ms": 900, "ttfb_ms": 950}, "ttfb_ms exceeds duration_ms"),
        (None, {"duration_ms": 900, "processing_ms": 5000}, "processing_ms exceeds duration_ms"),
    ],
)
def test_times_that_cannot_be_are_held(platform_ms: float | None, metadata: dict[str, Any], problem: str) -> None:
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
        (None, {"duration_ms": 1e12}),  # nobody measured
        (500.0, {"duration_ms": 400.2, "ttfb_ms": 400.9}),  # rounded
        (500.0, {"duration_ms": 0, "ttfb_ms": 0}),
        (500.0, {"duration_ms": 300, "processing_ms": 900}),  # on several cores
        (500.0, {}),
        (500.0, {"model": "large", "ttfb_ms": 40}),
    ],
)
def test_honest_times_are_left_alone(platform_ms: float | None, metadata: dict[str, Any]) -> None:
    assert flag_of(platform_ms, **metadata) is None


@pytest.mark.parametrize("odd", ["9e9", None, True, [9e9], {"ms": 9e9}, float("nan"), float("inf"), 10**400])
def test_what_is_no_number_tells_nothing(odd: Any) -> None:
    assert flag_of(10.0, duration_ms=odd, ttfb_ms=odd, processing_ms=odd) is None
    assert flag_of(10.0, duration_ms=5, ttfb_ms=odd) is None


@given(TIMES, TIMES, TIMES)
def test_a_longer_claim_never_helps(platform_ms: float, duration: float, more: float) -> None:
    if flag_of(platform_ms, duration_ms=duration) is not None:
        assert flag_of(platform_ms, duration_ms=duration + more) is not None


@given(TIMES, st.floats(0, 1), st.floats(0, 1))
def test_parts_within_a_whole_within_what_was_measured_are_honest(platform_ms: float, one: float, other: float) -> None:
    duration = platform_ms * one
    assert flag_of(platform_ms, duration_ms=duration, ttfb_ms=duration * other, processing_ms=duration * other) is None
