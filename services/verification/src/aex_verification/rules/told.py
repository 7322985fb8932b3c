"""What an agent is told of a candidate that did not pass."""

from dataclasses import dataclass

from aex_models.results import VerificationResult
from aex_models.work import FeedbackLevel, Work
from aex_outcomes.feedback import rejection_code, render_feedback, render_invalid, summary_of
from aex_outcomes.lifecycle.ruling import Invalid, Rejected, Ruling
from aex_outcomes.lifecycle.state import VerificationState


@dataclass(frozen=True, slots=True)
class Told:
    """The code of a rejection, its summary (None where the work tells none) and the feedback."""

    code: str
    message: str | None
    feedback: str


def rejection_told(
    result: VerificationResult, ruling: Ruling | None, verification: VerificationState, work: Work
) -> Told:
    """Of a rejected candidate: in the named verifier's words where that rejected it, else by criteria and gate."""
    level = work.verification.feedback
    said = ruling.rejection if isinstance(ruling, Rejected) else None
    code, message = (said.code, said.message) if said else (rejection_code(result, work.success_criteria), None)
    feedback = render_feedback(
        result,
        attempt=verification.attempts_used,
        max_attempts=verification.max_attempts,
        level=level,
        code=code,
        message=message,
        metadata=said.metadata if said else None,
    )
    return Told(code, None if level is FeedbackLevel.NONE else summary_of(result, message), feedback)


def invalid_told(ruling: Invalid) -> str:
    """Of an output that the verifier's output type does not take: why, at every level."""
    return render_invalid(ruling.errors)


def says_fatal(ruling: Ruling | None) -> bool:
    """Whether the verifier wants no further candidate."""
    return isinstance(ruling, Rejected) and ruling.fatal
