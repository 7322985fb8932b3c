"""Claimed metrics compared with the extracted ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.claimed_metric_mismatch import RULE
from aex_governance.rules.config import load_rule_configs
from aex_models.governance import Action, Severity
from tests.services.governance.requests import case

THRESHOLDS = load_rule_configs()[RULE.name].thresholds
ORDER = (None, Severity.MINOR, Severity.MAJOR, Severity.CRITICAL)


def severity(claimed: Any, extracted: Any) -> Severity | None:
    flag = RULE.check(case(claimed_metrics={"x": claimed}, extracted_metrics={"x": extracted}), THRESHOLDS)
    return flag.severity if flag else None


@pytest.mark.parametrize(
    ("claimed", "extracted", "expected"),
    [
        (0.5, 0.5, None),
        (0.525, 0.5, None),  # 5 %, and slightly more in binary
        (0.5250001, 0.5, Severity.MINOR),
        (0.6, 0.5, Severity.MINOR),  # 20 %
        (0.6000001, 0.5, Severity.MAJOR),
        (0.26, 0.5, Severity.MAJOR),
        (1.0, 0.5, Severity.CRITICAL),  # twice as much
        (0.25, 0.5, Severity.CRITICAL),  # half as much
        (92, 0.92, Severity.CRITICAL),
        (10**400, 0.5, Severity.CRITICAL),
        (10**400, 10**400 + 1, None),
        (-0.5, 0.5, Severity.CRITICAL),
        (0.1, 0.0, Severity.CRITICAL),
        (0.0, 0.4, Severity.CRITICAL),
        (0.0, -0.0, None),
        (1e-17, -1e-17, None),
        (1e-11, 9e-11, Severity.CRITICAL),
        (True, True, None),
        (True, False, Severity.MAJOR),
        (1, True, Severity.MINOR),
        (0.9, None, Severity.MAJOR),
    ],
)
def test_difference_gives_the_severity(claimed: Any, extracted: Any, expected: Severity | None) -> None:
    assert severity(claimed, extracted) is expected


def test_claim_without_an_extracted_value_is_honest() -> None:
    assert RULE.check(case(claimed_metrics={"novelty": 1.0}), THRESHOLDS) is None


def test_worst_claim_gives_the_severity() -> None:
    claims, extracted = {"a": 0.56, "b": 0.9, "c": 0.5}, {"a": 0.5, "b": 0.4, "c": 0.5}
    flag = RULE.check(case(claimed_metrics=claims, extracted_metrics=extracted), THRESHOLDS)
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.REJECT
    assert flag.evidence["metrics"] == {
        "a": {"claimed": 0.56, "extracted": 0.5, "severity": "minor", "relative_error": 0.12},
        "b": {"claimed": 0.9, "extracted": 0.4, "severity": "critical", "relative_error": 1.25},
    }


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from([-1, 1]))
def test_larger_difference_is_at_least_as_severe(extracted: float, off: float, more: float, sign: int) -> None:
    near, further = extracted + sign * off, extracted + sign * (off + more)
    assert ORDER.index(severity(further, extracted)) >= ORDER.index(severity(near, extracted))


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda each: abs(each) < 1e306), st.integers(-3, 3))
def test_scale_does_not_change_the_severity(extracted: float, exponent: int) -> None:
    if abs(extracted) > 1e-6:
        scale = 2.0**exponent  # exact
        assert severity(1.3 * extracted * scale, extracted * scale) is severity(1.3 * extracted, extracted)
