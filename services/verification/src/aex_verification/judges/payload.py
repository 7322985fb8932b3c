"""Data model of a review as the language model returns it.

Fields on which a verdict rests are validated; prose is truncated.
"""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from aex_models.examination import MismatchSeverity, ValueMismatch
from aex_models.frozen import StrictBool
from aex_models.science import OutcomeVerdict, Recommendation, ScientificReview, ScientificValidity

MAX_ITEMS = 20
MAX_ITEM_CHARS = 600
MAX_REASONING_CHARS = 6_000
_UNSTORABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

_Number = Annotated[float, Field(strict=True)]


class _ModelOutput(BaseModel):
    """Base model that refuses NaN and ignores additional fields."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


# Titles and descriptions, and the name of the class SaidMismatch, are part of the JSON schema that a model receives.
class SaidMismatch(_ModelOutput):
    """Claim that the data contradict, as the model reports it."""

    model_config = ConfigDict(
        title="SaidMismatch", json_schema_extra={"description": "A claim that the data contradict."}
    )

    name: str | None = None
    claimed: _Number
    actual: _Number
    severity: MismatchSeverity


class ReviewPayload(_ModelOutput):
    """Review as the model returns it."""

    model_config = ConfigDict(
        title="SaidReview", json_schema_extra={"description": "Your review of the claimed result."}
    )

    outcome_verdict: OutcomeVerdict
    scientific_validity: ScientificValidity
    confidence: Annotated[float, Field(ge=0, le=1, strict=True, description="How sure you are, from 0 to 1.")]
    answers_original_question: StrictBool | None = None
    values_plausible: StrictBool | None = None
    values_consistent: StrictBool | None = None
    reasoning_sound: Annotated[StrictBool | None, Field(description="null where you cannot tell.")] = None
    issues: list[str] = []
    value_mismatches: list[SaidMismatch] = []
    domain_violations: list[str] = []
    missing_for_conclusion: list[str] = []
    recommendation: Recommendation
    reasoning: Annotated[str, Field(description="How you came to your verdict, in a few sentences.")] = ""

    def to_stored_review(self) -> ScientificReview:
        """Return the review for storage: without control characters, and with long texts and lists cut."""
        cleaned = {
            "issues": _clean_list(self.issues),
            "value_mismatches": tuple(map(_make_mismatch, self.value_mismatches[:MAX_ITEMS])),
            "domain_violations": _clean_list(self.domain_violations),
            "missing_for_conclusion": _clean_list(self.missing_for_conclusion),
            "reasoning": _clean(self.reasoning, MAX_REASONING_CHARS),
        }
        return ScientificReview.model_validate(dict(self) | cleaned)


def _make_mismatch(item: SaidMismatch) -> ValueMismatch:
    """Return the mismatch marked as secret, because the model read values of the consumer's data."""
    name = None if item.name is None else _clean(item.name, MAX_ITEM_CHARS)
    return ValueMismatch(name=name, claimed=item.claimed, actual=item.actual, severity=item.severity, secret=True)


def _clean_list(texts: list[str]) -> tuple[str, ...]:
    return tuple(_clean(text, MAX_ITEM_CHARS) for text in texts[:MAX_ITEMS])


def _clean(text: str, limit: int) -> str:
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return _UNSTORABLE.sub("\ufffd", cut)
