"""Texts of causes, decisions and durations."""

from datetime import timedelta

import pytest

from aex_governance.review.words import (
    CAUSE_NOTES,
    CAUSES,
    DECISION_TEXTS,
    SEVERITIES,
    decision_options,
    format_duration,
)
from aex_models.governance import Decision, HoldCause, Severity


def test_every_cause_severity_and_decision_has_a_text() -> None:
    assert set(CAUSES) == set(CAUSE_NOTES) == set(HoldCause)
    assert set(SEVERITIES) == set(Severity)
    assert set(DECISION_TEXTS) == set(Decision)
    for cause in HoldCause:
        assert [each.decision for each in decision_options(cause)] == list(Decision)
        assert all(each.effect.endswith(".") for each in decision_options(cause))


def test_release_without_a_verdict_pays_the_base_only() -> None:
    judged, unjudged = (
        decision_options(each)[0].effect for each in (HoldCause.FRAUD_SUSPECTED, HoldCause.CUSTOM_METRIC_FAILED)
    )
    assert "as the engine judged it" in judged
    assert "bonus and penalty are 0" in unjudged


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3_600, "1 h 0 min"), (90_061, "1 d 1 h"), (-5, "0 s")],
)
def test_duration_has_two_units(seconds: int, text: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == text
