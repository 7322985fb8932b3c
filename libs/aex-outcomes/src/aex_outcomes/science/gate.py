"""Science gate: the verdict on a candidate from its examination and its peer review (spec file 4).

The examination's arithmetic may lower the grades of a review, and raises none. If a demanded review failed, the verdict
is indeterminate whatever the arithmetic says: the candidate does not pass, and no attempt is counted.
"""

from aex_models.examination import PEER_REVIEW, DataOwner, Examination
from aex_models.science import (
    GateReason,
    OutcomeVerdict,
    Recommendation,
    ReviewFailure,
    ReviewQuotes,
    Science,
    ScienceResult,
    ScientificReview,
    ScientificValidity,
    ShareReview,
)
from aex_outcomes.science.arithmetic import Arithmetic, assess_arithmetic
from aex_outcomes.science.peer_review_port import Reviewed

VERDICTS = (
    OutcomeVerdict.WRONG_ANSWER,
    OutcomeVerdict.DOES_NOT_ANSWER,
    OutcomeVerdict.PARTIAL_ANSWER,
    OutcomeVerdict.ANSWERS_QUESTION,
)
VALIDITIES = (ScientificValidity.INVALID, ScientificValidity.QUESTIONABLE, ScientificValidity.VALID)
RECOMMENDATIONS = (Recommendation.REJECT, Recommendation.REVISE, Recommendation.ACCEPT)
"""Grades from the worst to the best, as in the two lists above."""


def cap_review_grades(review: ScientificReview, arithmetic: Arithmetic) -> ScientificReview:
    """Return the review with its grades lowered to what the arithmetic allows.

    After a critical mismatch or a violation the grades are wrong answer, invalid, reject. Other mismatches, and missing
    statistics, allow at best questionable and revise. Plausibility and consistency come from the arithmetic; where it
    has no result, they are False if the reviewer denied them, else None. Mismatches and violations of the arithmetic
    replace the reviewer's.
    """
    verdict, validity, recommendation = review.outcome_verdict, review.scientific_validity, review.recommendation
    if arithmetic.reasons:
        validity = min(validity, ScientificValidity.QUESTIONABLE, key=VALIDITIES.index)
        recommendation = min(recommendation, Recommendation.REVISE, key=RECOMMENDATIONS.index)
    if arithmetic.untenable:
        verdict, validity, recommendation = VERDICTS[0], VALIDITIES[0], RECOMMENDATIONS[0]
    answers = review.answers_original_question if verdict is OutcomeVerdict.ANSWERS_QUESTION else False
    mismatches = tuple(each.model_copy(update={"secret": True}) for each in review.value_mismatches)
    return review.model_copy(
        update={
            "outcome_verdict": verdict,
            "scientific_validity": validity,
            "recommendation": recommendation,
            "answers_original_question": answers,
            "values_plausible": _prefer_computed(arithmetic.plausible, review.values_plausible),
            "values_consistent": _prefer_computed(arithmetic.consistent, review.values_consistent),
            "value_mismatches": arithmetic.mismatches or mismatches,
            "domain_violations": tuple(each.message for each in arithmetic.violations) or review.domain_violations,
        }
    )


def _prefer_computed(computed: bool | None, reviewed: bool | None) -> bool | None:
    if computed is not None:
        return computed
    return False if reviewed is False else None


_REJECTED = GateReason(
    code="review_rejected", message="A peer review found the result wrong, invalid or not acceptable"
)
_QUESTIONABLE = GateReason(code="review_questionable", message="A peer review did not find the result wholly sound")
_FAILURES = {
    ReviewFailure.UNPARSABLE: "The reviewer gave no readable review",
    ReviewFailure.UNREACHABLE: "No reviewer could be reached",
}


def decide_science_result(science: Science, examination: Examination, reviewed: Reviewed | None) -> ScienceResult:
    """Decide whether a candidate passes the work's scientific checks, with reasons.

    `passed` is None if no verdict is possible: unread data, or a demanded review that failed. Of `science`, `checks`
    and `strict` are read. `reviewed`: result of the peer review; None if none was made. It is ignored where the work
    does not demand `peer_review`. A review can only lower what the arithmetic allows.
    """
    found = assess_arithmetic(science, examination)
    peer_review = reviewed if PEER_REVIEW in science.checks else None
    review = cap_review_grades(peer_review.review, found) if peer_review and peer_review.review else None
    failure = peer_review.failure if peer_review else None
    passed, reasons, warnings = _decide(science, found, peer_review, review)
    return ScienceResult(
        passed=passed,
        reasons=reasons,
        warnings=warnings,
        value_mismatches=found.mismatches,
        domain_violations=found.violations,
        mixed_groups=examination.mixed_groups,
        values_plausible=found.plausible,
        values_consistent=found.consistent,
        examination=examination,
        review=review,
        review_failure=failure,
        reviewer=peer_review.reviewer if peer_review else None,
        review_quotes=_review_quotes(science, examination),
    )


def _review_quotes(science: Science, examination: Examination) -> ReviewQuotes:
    if science.share_review is ShareReview.NONE:
        return ReviewQuotes.NEVER
    has_own_data = any(each.owner is DataOwner.CONSUMER for each in examination.files)
    has_own_data = has_own_data or any(each.is_secret for each in examination.recomputed)
    is_confidential = science.data or science.reviewer_sees_expected or has_own_data
    return ReviewQuotes.AT_FULL if is_confidential else ReviewQuotes.AT_CRITERIA


def _decide(
    science: Science, found: Arithmetic, reviewed: Reviewed | None, review: ScientificReview | None
) -> tuple[bool | None, tuple[GateReason, ...], tuple[GateReason, ...]]:
    """Return the verdict (None for indeterminate), its reasons and its warnings.

    `reviewed` holds the reviewer's own grades, `review` the same review after `cap_review_grades`.
    """
    failure = reviewed.failure if reviewed else None
    if reviewed is None and set(science.checks) == {PEER_REVIEW}:
        failure = ReviewFailure.UNREACHABLE  # nothing else was checked, and unknown is no pass
    failures = (GateReason(code=failure.value, message=_FAILURES[failure]),) if failure else ()
    if found.unavailable or failures:
        return None, (*found.unavailable, *failures, *found.reasons), ()
    if reviewed is None or reviewed.review is None or review is None:
        return not found.reasons, found.reasons, ()
    own = _REJECTED if _is_refused(reviewed.review) else None if _is_clean(reviewed.review) else _QUESTIONABLE
    reasons = (*found.reasons, *([own] if own else ()))
    if _is_refused(review):
        return False, reasons, ()
    if _is_clean(review):
        return True, (), ()
    return (False, reasons, ()) if science.strict else (True, (), reasons)


def _is_refused(review: ScientificReview) -> bool:
    return (
        review.recommendation is Recommendation.REJECT
        or review.outcome_verdict is OutcomeVerdict.WRONG_ANSWER
        or review.scientific_validity is ScientificValidity.INVALID
    )


def _is_clean(review: ScientificReview) -> bool:
    return (
        review.outcome_verdict is OutcomeVerdict.ANSWERS_QUESTION
        and review.scientific_validity is ScientificValidity.VALID
    )
