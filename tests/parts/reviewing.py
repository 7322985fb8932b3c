"""Scripted peer reviewers, for tests without a model."""

from typing import Any

from aex_models.science import Reviewer, ReviewFailure, ScientificReview
from aex_outcomes.science.peer_review_port import ReviewBrief, Reviewed
from tests.parts.openai_stub import ACCEPTING

REVIEWER = Reviewer(model="scripted", prompt_version="0")


def accepting(**changed: Any) -> ScientificReview:
    return ScientificReview.model_validate(ACCEPTING).model_copy(update=changed)


def says(answer: ScientificReview | ReviewFailure) -> Reviewed:
    if isinstance(answer, ReviewFailure):
        return Reviewed(REVIEWER, failure=answer, detail="scripted")
    return Reviewed(REVIEWER, review=answer)


class ScriptedReviewer:
    """`PeerReviewer` that returns `answer` and keeps its `briefs`."""

    def __init__(self, answer: ScientificReview | ReviewFailure | None = None) -> None:
        self.answer: ScientificReview | ReviewFailure = answer or accepting()
        self.briefs: list[ReviewBrief] = []

    async def review(self, brief: ReviewBrief) -> Reviewed:
        self.briefs.append(brief)
        return says(self.answer)
