"""Works with science on the bench: what they demand, and the candidates that claim something."""

from collections.abc import Callable
from typing import Any

from aex_models.science import (
    OutcomeVerdict,
    Recommendation,
    Reviewer,
    ReviewFailure,
    ScienceResult,
    ScientificReview,
    ScientificValidity,
)
from aex_outcomes.science.review.port import ReviewBrief, Reviewed
from aex_verification.rules.records import AttemptRow
from tests.parts.verification import VerificationBench
from tests.services.verification.flow import judge

DMS = "bioinformatics/DMS"
SECRET = "canary: what is expected"
MEAN = {"name": "mean_fitness", "stat": "mean", "column": "mut_score"}
TABLE = "mutant,mut_score\nA1C,-0.3\nA1D,-0.5\nA1E,-0.4\n"
"""With a mean of -0.4."""
REVIEWED = ["value_ranges", "recompute_statistics", "peer_review"]
STUB = Reviewer(model="stub", prompt_version="1")


def science(**changes: Any) -> dict[str, Any]:
    """What a work demands that wants the mean fitness."""
    return {"question": "How fit?", "expected_outcome": SECRET, "statistics": [MEAN], **changes}


def table(content: str = TABLE, name: str = "scores.csv") -> dict[str, Any]:
    """A file within a candidate."""
    return {"name": name, "media_type": "text/csv", "content": content}


async def claim(
    bench: VerificationBench, values: dict[str, Any], *artifacts: dict[str, Any], **more: Any
) -> AttemptRow:
    """The agent posts claims, and a worker takes them."""
    return await judge(bench, "a b c", claimed_values=values, artifacts=list(artifacts), **more)


def concluded(row: AttemptRow) -> ScienceResult:
    """What the gate said, which there has to be."""
    assert row.result is not None
    assert row.result.science is not None
    return row.result.science


class ReviewerInHand:
    """Says what the test says, and remembers what it was shown."""

    def __init__(self, reviews: Callable[[ReviewBrief], Reviewed]) -> None:
        self.reviews = reviews
        self.shown: list[ReviewBrief] = []

    async def review(self, brief: ReviewBrief) -> Reviewed:
        return self.review_now(brief)

    def review_now(self, brief: ReviewBrief) -> Reviewed:
        """The same for whoever does not wait."""
        self.shown.append(brief)
        return self.reviews(brief)


def accepts(_: ReviewBrief) -> Reviewed:
    """A reviewer that finds everything excellent."""
    review = ScientificReview(
        outcome_verdict=OutcomeVerdict.ANSWERS_QUESTION,
        scientific_validity=ScientificValidity.VALID,
        confidence=1.0,
        answers_original_question=True,
        values_plausible=True,
        values_consistent=True,
        reasoning_sound=True,
        recommendation=Recommendation.ACCEPT,
        reasoning="excellent",
    )
    return Reviewed(STUB, review=review)


def talks_nonsense(_: ReviewBrief) -> Reviewed:
    """A reviewer whose words nobody can read."""
    return Reviewed(STUB, failure=ReviewFailure.UNPARSABLE, detail="ValidationError")


def is_away(_: ReviewBrief) -> Reviewed:
    """A reviewer that nobody can reach."""
    return Reviewed(STUB, failure=ReviewFailure.UNREACHABLE, detail="ConnectError")
