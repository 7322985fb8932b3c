"""Scripted peer reviewers, for tests without a model."""

from typing import Any

from aex_models.science import Reviewer, ReviewFailure, ScientificReview
from aex_outcomes.science.peer_review_port import ReviewBrief, Reviewed
from tests.parts.openai_stub import ACCEPTING

REVIEWER = Reviewer(model="scripted", prompt_version="0")


def make_accepting_review(**changed: Any) -> ScientificReview:
    return ScientificReview.model_validate(ACCEPTING).model_copy(update=changed)


def make_reviewed(answer: ScientificReview | ReviewFailure) -> Reviewed:
    if isinstance(answer, ReviewFailure):
        return Reviewed(REVIEWER, failure=answer, detail="scripted")
    return Reviewed(REVIEWER, review=answer)


class ScriptedReviewer:
    """A `PeerReviewer` that always returns `answer`, and keeps the briefs that it gets."""

    def __init__(self, answer: ScientificReview | ReviewFailure | None = None) -> None:
        self.answer: ScientificReview | ReviewFailure = answer or make_accepting_review()
        self.briefs: list[ReviewBrief] = []

    async def review(self, brief: ReviewBrief) -> Reviewed:
        self.briefs.append(brief)
        return make_reviewed(self.answer)
