"""Port of peer reviewers, with the material that they receive and the result that they return."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aex_models.domains import Domain
from aex_models.examination import PEER_REVIEW, DataOwner, Examination, Fault
from aex_models.science import Reviewer, ReviewFailure, Science, ScientificReview


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """Description of a file of raw data for a reviewer, who sees none of its cells."""

    name: str
    owner: DataOwner
    columns: tuple[str, ...] = ()
    """Names of the columns; empty if unknown."""


def list_reviewed_files(examination: Examination, files: Iterable[tuple[str, DataOwner]]) -> tuple[ReviewedFile, ...]:
    """Describe files for a reviewer, by name and owner, with the columns that the examination read."""
    columns = {(each.name, each.owner): each.columns for each in examination.files}
    return tuple(ReviewedFile(name, owner, columns.get((name, owner), ())) for name, owner in files)


@dataclass(frozen=True, slots=True)
class ReviewBrief:
    """Material of one peer review: a candidate, its work and its examination."""

    science: Science
    """The work's `science` with its secrets. The prompt shows the expected outcome only where the work allows it."""
    domain: Domain | None
    claims: Mapping[str, Any]
    """Claimed values by name; numbers keep the text that the agent wrote."""
    reasoning: str | None
    output_text: str
    """The claimed result: text as it is, anything else as JSON."""
    examination: Examination
    files: tuple[ReviewedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Result of a request for a peer review: a review or a failure; both or neither is a `ValueError`."""

    reviewer: Reviewer
    review: ScientificReview | None = None
    failure: ReviewFailure | None = None
    detail: str = ""
    """Kind of failure for logs; never a quotation of the review or the data."""

    def __post_init__(self) -> None:
        if (self.review is None) == (self.failure is None):
            raise ValueError("Either a review or a failure")


class PeerReviewer(Protocol):
    """Reviewer that judges scientific claims, such as a language model."""

    async def review(self, brief: ReviewBrief) -> Reviewed:
        """Review the claims. Errors of a model or its server are returned as a failure, not raised."""
        ...


def needs_review(science: Science, examination: Examination) -> bool:
    """Return True if the work demands a peer review and the platform could read its data.

    Unread data allow no verdict, so that a review would be useless. Claims that failed other checks are reviewed too.
    """
    lost = any(problem.fault is Fault.PLATFORM for problem in examination.problems)
    return PEER_REVIEW in science.checks and not lost


def render_output_text(output: Any) -> str:
    """Return the output as text for a reviewer: a string as it is, any other value as JSON."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
