"""Rules about verdicts: feedback on rejections, hold causes, and failures of the sandbox."""

from dataclasses import dataclass
from datetime import datetime

from aex_models.examination import Fault
from aex_models.governance import Action, GovernanceResult, HoldCause
from aex_models.results import CUSTOM_METRIC_FAILED, Verdict, VerificationResult
from aex_models.science import ReviewFailure
from aex_models.work import FeedbackLevel, Work
from aex_outcomes.feedback import derive_rejection_code, render_feedback, summarize_rejection
from aex_outcomes.lifecycle.ruling import Rejected, Ruling
from aex_outcomes.lifecycle.state import VerificationState
from aex_outcomes.sandbox.port import SANDBOX_UNAVAILABLE
from aex_outcomes.version import ENGINE_VERSION
from aex_verification.rules.records import AttemptRow


@dataclass(frozen=True, slots=True)
class RejectionNotice:
    """Code and feedback of a rejection, and a summary (`message`) unless the work gives no feedback."""

    code: str
    message: str | None
    feedback: str


def make_rejection_notice(
    result: VerificationResult, ruling: Ruling | None, verification: VerificationState, work: Work
) -> RejectionNotice:
    """Return code, summary and feedback of a rejection.

    They follow from the named verifier's ruling if it rejected, else from criteria and science gate.
    """
    level = work.verification.feedback
    rejection = ruling.rejection if isinstance(ruling, Rejected) else None
    code = rejection.code if rejection else derive_rejection_code(result, work.success_criteria)
    message, metadata = (rejection.message, rejection.metadata) if rejection else (None, None)
    feedback = render_feedback(
        result,
        attempt=verification.attempts_used,
        max_attempts=verification.max_attempts,
        level=level,
        code=code,
        message=message,
        metadata=metadata,
    )
    return RejectionNotice(
        code, None if level is FeedbackLevel.NONE else summarize_rejection(result, message), feedback
    )


def make_indeterminate_result(attempt: AttemptRow, now: datetime) -> VerificationResult:
    """Return an indeterminate result without metrics, for an attempt that the engine did not finish."""
    return VerificationResult(
        verification_id=f"ver_{attempt.attempt_id.removeprefix('att_')}",
        contract_id=attempt.contract_id,
        verdict=Verdict.INDETERMINATE,
        success=False,
        weighted_score=0.0,
        governance=GovernanceResult(action=Action.HOLD),
        candidate_hash=attempt.candidate_hash,
        engine_version=ENGINE_VERSION,
        verified_at=now,
    )


def lacks_sandbox(result: VerificationResult) -> bool:
    """Return whether custom code could not run at all in the worker, according to the result's errors."""
    return any(each.error is not None and each.error.code == SANDBOX_UNAVAILABLE for each in result.criterion_results)


def permanent_hold_cause(result: VerificationResult) -> HoldCause | None:
    """Return the hold cause of an indeterminate result, or None if a retry may change the result.

    An unparsable review was retried before. An unreachable reviewer is retried later, whatever else is missing.
    """
    failure = result.science.review_failure if result.science else None
    if failure is ReviewFailure.UNPARSABLE:
        return HoldCause.REVIEW_UNPARSABLE
    errors = [each.error for each in result.criterion_results if each.error is not None]
    codes = {error.code for error in errors if error.fault is Fault.PLATFORM}
    return HoldCause.CUSTOM_METRIC_FAILED if failure is None and codes == {CUSTOM_METRIC_FAILED} else None
