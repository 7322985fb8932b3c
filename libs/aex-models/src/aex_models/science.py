"""Scientific verification: reviews, mismatches and violations (spec file 4)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from aex_models.frozen import Frozen


class OutcomeVerdict(StrEnum):
    """Whether a result answers the question that was asked."""

    ANSWERS_QUESTION = "answers_question"
    PARTIAL_ANSWER = "partial_answer"
    DOES_NOT_ANSWER = "does_not_answer"
    WRONG_ANSWER = "wrong_answer"


class ScientificValidity(StrEnum):
    """Whether the science behind a result holds."""

    VALID = "valid"
    QUESTIONABLE = "questionable"
    INVALID = "invalid"


class Recommendation(StrEnum):
    """What a peer reviewer would have done with the result."""

    ACCEPT = "accept"
    REVISE = "revise"
    REJECT = "reject"


class MismatchSeverity(StrEnum):
    """How far a claimed value lies from the recomputed one."""

    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class ValueMismatch(Frozen):
    """A claimed value that the data do not bear out."""

    name: str | None = None
    claimed: float
    actual: float
    severity: MismatchSeverity


class ScientificReview(Frozen):
    """A peer review of a claimed result. What only a reader could tell is None without a reader."""

    outcome_verdict: OutcomeVerdict
    scientific_validity: ScientificValidity
    confidence: Annotated[float, Field(ge=0, le=1)]
    answers_original_question: bool | None
    values_plausible: bool | None
    values_consistent: bool | None
    reasoning_sound: bool | None
    issues: tuple[str, ...] = ()
    value_mismatches: tuple[ValueMismatch, ...] = ()
    domain_violations: tuple[str, ...] = ()
    missing_for_conclusion: tuple[str, ...] = ()
    recommendation: Recommendation
    reasoning: str = ""


class ScienceResult(Frozen):
    """What the science gate concluded about one candidate."""

    passed: bool | None
    """None: the gate could not tell."""
    review: ScientificReview | None = None
    value_mismatches: tuple[ValueMismatch, ...] = ()
    domain_violations: tuple[str, ...] = ()
