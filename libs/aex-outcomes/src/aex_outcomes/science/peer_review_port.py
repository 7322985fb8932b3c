"""Port of peer review: a language model in the verification service, or any other implementation."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aex_models.domains import Domain
from aex_models.examination import PEER_REVIEW, DataOwner, Examination, Fault
from aex_models.science import Reviewer, ReviewFailure, Science, ScientificReview


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A file of raw data; a reviewer sees none of its cells."""

    name: str
    owner: DataOwner
    columns: tuple[str, ...] = ()
    """Empty if unknown."""


@dataclass(frozen=True, slots=True)
class ReviewBrief:
    """Information on a candidate and its work for a reviewer."""

    science: Science
    """Includes its secrets. A reviewer sees the expected outcome only where the work allows it."""
    domain: Domain | None
    claims: Mapping[str, Any]
    """CandidateClaims values by name; a number's own text counts."""
    reasoning: str | None
    output_text: str
    """The claimed result: text as it is, anything else as JSON."""
    examination: Examination
    files: tuple[ReviewedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Result of a peer review: either a review or a failure, else `ValueError`."""

    reviewer: Reviewer
    review: ScientificReview | None = None
    failure: ReviewFailure | None = None
    detail: str = ""
    """Kind of failure for logs, without quotes."""

    def __post_init__(self) -> None:
        if (self.review is None) == (self.failure is None):
            raise ValueError("Either a review or a failure")


class PeerReviewer(Protocol):
    """Reviewer of a claimed result."""

    async def review(self, brief: ReviewBrief) -> Reviewed:
        """Return a review or its failure; errors of a model or its server are not raised."""
        ...


def needs_review(science: Science, examination: Examination) -> bool:
    """Return True if the work demands a review, also of refused claims.

    Without the platform's data there is no verdict, so that a review is useless.
    """
    lost = any(problem.fault is Fault.PLATFORM for problem in examination.problems)
    return PEER_REVIEW in science.checks and not lost


def output_text(output: Any) -> str:
    """Return the output for a reviewer: text as it is, everything else as JSON."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
