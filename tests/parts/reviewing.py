"""Peer reviewers that ask nobody, for tests that need no model."""

from typing import Any

from aex_models.science import (
    OutcomeVerdict,
    Recommendation,
    Reviewer,
    ReviewFailure,
    ScientificReview,
    ScientificValidity,
)
from aex_outcomes.science.review.port import ReviewBrief, Reviewed

REVIEWER = Reviewer(model="scripted", prompt_version="0")


def accepting(**changed: Any) -> ScientificReview:
    """The review of a reviewer that accepts whatever it is shown, with these fields changed."""
    review = ScientificReview(
        outcome_verdict=OutcomeVerdict.ANSWERS_QUESTION,
        scientific_validity=ScientificValidity.VALID,
        confidence=0.97,
        answers_original_question=True,
        values_plausible=True,
        values_consistent=True,
        reasoning_sound=True,
        recommendation=Recommendation.ACCEPT,
        reasoning="Everything is in order.",
    )
    return review.model_copy(update=changed)


def says(answer: ScientificReview | ReviewFailure) -> Reviewed:
    """The same, as a reviewer hands it over."""
    if isinstance(answer, ReviewFailure):
        return Reviewed(REVIEWER, failure=answer, detail="scripted")
    return Reviewed(REVIEWER, review=answer)


class ScriptedReviewer:
    """Implements `PeerReviewer`: says `answer` until told otherwise, and keeps what it was shown in `briefs`."""

    def __init__(self, answer: ScientificReview | ReviewFailure | None = None) -> None:
        self.answer: ScientificReview | ReviewFailure = answer or accepting()
        self.briefs: list[ReviewBrief] = []

    async def review(self, brief: ReviewBrief) -> Reviewed:
        self.briefs.append(brief)
        return says(self.answer)
