"""Whoever reviews a claimed result: a language model in the verification service, anything else in other hands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aex_models.domains import Domain
from aex_models.examination import DataOwner, Examination
from aex_models.science import Reviewer, ReviewFailure, Science, ScientificReview


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A file of raw data, by what it is called: a reviewer is shown none of its cells."""

    name: str
    owner: DataOwner
    columns: tuple[str, ...] = ()
    """Empty where they are not known."""


@dataclass(frozen=True, slots=True)
class ReviewBrief:
    """All that a reviewer may know of a candidate and of the work it was made for."""

    science: Science
    """With its secrets. The expected outcome is for a reviewer only where the work says so."""
    domain: Domain | None
    claims: Mapping[str, Any]
    """Claimed values by name; a number's own text counts."""
    reasoning: str | None
    output_text: str
    """The claimed result: text as it is, anything else as JSON."""
    examination: Examination
    files: tuple[ReviewedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What came of asking: a review, or why there is none. Exactly one of both, else `ValueError`."""

    reviewer: Reviewer
    review: ScientificReview | None = None
    failure: ReviewFailure | None = None
    detail: str = ""
    """For logs: what kind of failure. Quotes nothing."""

    def __post_init__(self) -> None:
        if (self.review is None) == (self.failure is None):
            raise ValueError("Either a review or a failure")


class PeerReviewer(Protocol):
    """Reads a claimed result as a peer would."""

    async def review(self, brief: ReviewBrief) -> Reviewed:
        """The review, or why there is none: nothing that a model or its server does is raised."""
        ...
