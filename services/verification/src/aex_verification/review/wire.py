"""What a model may say in a review: checked where a verdict rests on it, cut where it only talks."""

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


class _Said(BaseModel):
    """Closed to NaN, open to fields that nobody asked for: models add some, and nothing reads them."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, use_attribute_docstrings=True)


class SaidMismatch(_Said):
    """A claim that the data contradict."""

    name: str | None = None
    claimed: _Number
    actual: _Number
    severity: MismatchSeverity


class SaidReview(_Said):
    """Your review of the claimed result."""

    outcome_verdict: OutcomeVerdict
    scientific_validity: ScientificValidity
    confidence: Annotated[float, Field(ge=0, le=1, strict=True)]
    """How sure you are, from 0 to 1."""
    answers_original_question: StrictBool | None = None
    values_plausible: StrictBool | None = None
    values_consistent: StrictBool | None = None
    reasoning_sound: StrictBool | None = None
    """null where you cannot tell."""
    issues: list[str] = []
    value_mismatches: list[SaidMismatch] = []
    domain_violations: list[str] = []
    missing_for_conclusion: list[str] = []
    recommendation: Recommendation
    reasoning: str = ""
    """How you came to your verdict, in a few sentences."""

    def as_review(self) -> ScientificReview:
        """The review as it is kept: texts cleaned and cut, at most `MAX_ITEMS` of each list."""
        return ScientificReview(
            outcome_verdict=self.outcome_verdict,
            scientific_validity=self.scientific_validity,
            confidence=self.confidence,
            answers_original_question=self.answers_original_question,
            values_plausible=self.values_plausible,
            values_consistent=self.values_consistent,
            reasoning_sound=self.reasoning_sound,
            issues=_listed(self.issues),
            value_mismatches=tuple(map(_mismatch, self.value_mismatches[:MAX_ITEMS])),
            domain_violations=_listed(self.domain_violations),
            missing_for_conclusion=_listed(self.missing_for_conclusion),
            recommendation=self.recommendation,
            reasoning=_cut(self.reasoning, MAX_REASONING_CHARS),
        )


def _mismatch(said: SaidMismatch) -> ValueMismatch:
    """Secret: the reader was shown what was recomputed from the consumer's own data."""
    name = None if said.name is None else _cut(said.name, MAX_ITEM_CHARS)
    return ValueMismatch(name=name, claimed=said.claimed, actual=said.actual, severity=said.severity, secret=True)


def _listed(texts: list[str]) -> tuple[str, ...]:
    return tuple(_cut(text, MAX_ITEM_CHARS) for text in texts[:MAX_ITEMS])


def _cut(text: str, room: int) -> str:
    shown = text if len(text) <= room else f"{text[: room - 1]}…"
    return _UNSTORABLE.sub("\ufffd", shown)
