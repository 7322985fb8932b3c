from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.examination import MismatchSeverity, ValueMismatch
from aex_verification.judges.payload import MAX_ITEM_CHARS, MAX_ITEMS, MAX_REASONING_CHARS, ReviewPayload
from tests.parts.openai_stub import ACCEPTING


def payload(**changed: Any) -> ReviewPayload:
    return ReviewPayload.model_validate(ACCEPTING | changed)


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
def test_decisive_fields_are_strict(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        payload(**changed)


def test_optional_fields_may_be_missing_null_or_further() -> None:
    assert payload(passed=True, override="gate").to_stored_review() == payload().to_stored_review()
    few = {"outcome_verdict", "scientific_validity", "confidence", "recommendation"}
    for name in few:
        with pytest.raises(ValidationError, match=name):
            ReviewPayload.model_validate({key: value for key, value in ACCEPTING.items() if key != name})
    review = ReviewPayload.model_validate({key: ACCEPTING[key] for key in few}).to_stored_review()
    assert review.reasoning_sound is None
    assert review.values_plausible is None
    assert payload(reasoning_sound=None).to_stored_review().reasoning_sound is None


def test_mismatches_that_a_model_names_are_secret() -> None:
    review = payload(
        value_mismatches=[{"name": "mean", "claimed": 11, "actual": -0.4, "severity": "critical"}]
    ).to_stored_review()
    assert review.value_mismatches == (
        ValueMismatch(name="mean", claimed=11, actual=-0.4, severity=MismatchSeverity.CRITICAL, secret=True),
    )


@given(st.lists(st.text(max_size=5), max_size=5), st.text(max_size=5), st.sampled_from([1, MAX_REASONING_CHARS]))
def test_texts_are_bounded_and_can_be_stored(issues: list[str], reasoning: str, times: int) -> None:
    review = payload(issues=[each * times for each in issues] * 10, reasoning=reasoning * times).to_stored_review()
    assert len(review.issues) <= MAX_ITEMS
    assert all(len(each) <= MAX_ITEM_CHARS for each in review.issues)
    assert len(review.reasoning) <= MAX_REASONING_CHARS
    assert "\x00" not in review.model_dump_json()
    assert payload(reasoning="x" * 10_000).to_stored_review().reasoning.endswith("x…")
