"""What a model says: checked where it decides, cut where it talks."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.examination import MismatchSeverity, ValueMismatch
from aex_verification.review.wire import MAX_ITEM_CHARS, MAX_ITEMS, MAX_REASONING_CHARS, SaidReview
from tests.parts.openai_stub import ACCEPTING


def said(**changed: Any) -> SaidReview:
    return SaidReview.model_validate(ACCEPTING | changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"confidence": 1.1},
        {"confidence": -0.1},
        {"confidence": True},
        {"confidence": "0.9"},
        {"confidence": float("nan")},
        {"confidence": None},
        {"outcome_verdict": "fine"},
        {"outcome_verdict": None},
        {"scientific_validity": "true"},
        {"recommendation": "Accept!"},
        {"values_plausible": "yes"},
        {"reasoning_sound": 1},
        {"issues": "none"},
        {"value_mismatches": [{"claimed": "1", "actual": 2, "severity": "minor"}]},
        {"value_mismatches": [{"claimed": 1, "actual": float("inf"), "severity": "minor"}]},
    ],
)
def test_what_a_verdict_rests_on_is_taken_as_it_is_defined_and_no_other_way(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        said(**changed)


@pytest.mark.parametrize("name", ["outcome_verdict", "scientific_validity", "confidence", "recommendation"])
def test_no_verdict_is_made_up_for_one_that_is_missing(name: str) -> None:
    with pytest.raises(ValidationError):
        SaidReview.model_validate({key: value for key, value in ACCEPTING.items() if key != name})


def test_what_a_model_leaves_out_or_cannot_tell_is_unknown() -> None:
    few = {"outcome_verdict", "scientific_validity", "confidence", "recommendation"}
    review = SaidReview.model_validate({key: ACCEPTING[key] for key in few}).as_review()
    assert review.reasoning_sound is None
    assert review.values_plausible is None
    assert said(reasoning_sound=None).as_review().reasoning_sound is None


def test_fields_that_nobody_asked_for_are_left_out() -> None:
    assert said(passed=True, override="gate").as_review() == said().as_review()


def test_mismatches_that_a_model_names_are_secret() -> None:
    review = said(
        value_mismatches=[{"name": "mean", "claimed": 11, "actual": -0.4, "severity": "critical"}]
    ).as_review()
    assert review.value_mismatches == (
        ValueMismatch(name="mean", claimed=11, actual=-0.4, severity=MismatchSeverity.CRITICAL, secret=True),
    )


@given(st.lists(st.text()), st.text(), st.integers(1, 1_000))
def test_texts_are_bounded_and_can_be_stored(issues: list[str], reasoning: str, times: int) -> None:
    review = said(issues=[each * times for each in issues], reasoning=reasoning * times).as_review()
    assert len(review.issues) <= MAX_ITEMS
    assert all(len(each) <= MAX_ITEM_CHARS for each in review.issues)
    assert len(review.reasoning) <= MAX_REASONING_CHARS
    assert "\x00" not in review.model_dump_json()


def test_what_was_cut_shows_it() -> None:
    assert said(reasoning="x" * 10_000).as_review().reasoning.endswith("x…")
