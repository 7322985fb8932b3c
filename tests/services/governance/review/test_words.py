"""Words: every cause, decision and span has its own, and they say what is done to contract and money."""

from datetime import timedelta

import pytest

from aex_governance.review.words import CAUSES, CAUSES_TOLD, DONE, SEVERITIES, choices, lasting
from aex_models.governance import Decision, HoldCause, Severity


def test_every_cause_severity_and_decision_has_words() -> None:
    assert set(CAUSES) == set(CAUSES_TOLD) == set(HoldCause)
    assert set(SEVERITIES) == set(Severity)
    assert set(DONE) == set(Decision)


@pytest.mark.parametrize("cause", HoldCause)
def test_every_decision_is_offered_and_says_what_it_does(cause: HoldCause) -> None:
    assert [each.decision for each in choices(cause)] == list(Decision)
    assert all(each.effect.endswith(".") for each in choices(cause))


def test_a_release_keeps_a_verdict_where_there_is_one_and_pays_the_base_alone_where_not() -> None:
    judged, unjudged = (choices(each)[0].effect for each in (HoldCause.FRAUD_SUSPECTED, HoldCause.CUSTOM_METRIC_FAILED))
    assert "as the engine judged it" in judged
    assert "bonus and penalty are 0" in unjudged


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3_600, "1 h 0 min"), (90_061, "1 d 1 h"), (-5, "0 s")],
)
def test_a_span_is_told_in_two_units(seconds: int, said: str) -> None:
    assert lasting(timedelta(seconds=seconds)) == said
