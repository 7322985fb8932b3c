"""Science gate: the result of arithmetic, and a peer review within its bounds (spec file 4).

Without a demanded review the gate is indeterminate, whatever the arithmetic says: the reasons name both, no attempt
is counted, and nothing passes. Arithmetic may lower a review's grades and raises none.
"""

from aex_models.examination import PEER_REVIEW, Examination
from aex_models.science import (
    GateReason,
    OutcomeVerdict,
    Recommendation,
    ReviewFailure,
    Science,
    ScienceResult,
    ScientificReview,
    ScientificValidity,
)
from aex_outcomes.science.arithmetic import Arithmetic, arithmetic_of
from aex_outcomes.science.peer_review_port import Reviewed

VERDICTS = (
    OutcomeVerdict.WRONG_ANSWER,
    OutcomeVerdict.DOES_NOT_ANSWER,
    OutcomeVerdict.PARTIAL_ANSWER,
    OutcomeVerdict.ANSWERS_QUESTION,
)
VALIDITIES = (ScientificValidity.INVALID, ScientificValidity.QUESTIONABLE, ScientificValidity.VALID)
RECOMMENDATIONS = (Recommendation.REJECT, Recommendation.REVISE, Recommendation.ACCEPT)
"""From the worst to the best."""


def cap_review(review: ScientificReview, found: Arithmetic) -> ScientificReview:
    """Return the review within the bounds of the arithmetic.

    A critical mismatch or a violation allows at best a wrong answer, invalid, to be rejected. Other mismatches and
    statistics that were not claimed or recomputed allow at best questionable, to be revised. Plausibility and
    consistency come from arithmetic; where it has no result, only a reviewer's negative answer counts.
    """
    verdict, validity, recommendation = review.outcome_verdict, review.scientific_validity, review.recommendation
    if found.reasons:
        validity = min(validity, ScientificValidity.QUESTIONABLE, key=VALIDITIES.index)
        recommendation = min(recommendation, Recommendation.REVISE, key=RECOMMENDATIONS.index)
    if found.untenable:
        verdict, validity, recommendation = VERDICTS[0], VALIDITIES[0], RECOMMENDATIONS[0]
    answers = review.answers_original_question if verdict is OutcomeVerdict.ANSWERS_QUESTION else False
    mismatches = tuple(each.model_copy(update={"secret": True}) for each in review.value_mismatches)
    return review.model_copy(
        update={
            "outcome_verdict": verdict,
            "scientific_validity": validity,
            "recommendation": recommendation,
            "answers_original_question": answers,
            "values_plausible": _prefer_computed(found.plausible, review.values_plausible),
            "values_consistent": _prefer_computed(found.consistent, review.values_consistent),
            "value_mismatches": found.mismatches or mismatches,
            "domain_violations": tuple(each.message for each in found.violations) or review.domain_violations,
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


def conclude(science: Science, examination: Examination, reviewed: Reviewed | None) -> ScienceResult:
    """Return the gate's result for one candidate.

    `science`: the work's demands, of which `checks` and `strict` are read. `reviewed`: result of the peer review, or
    None; ignored where the work does not demand `peer_review`. A review lowers what arithmetic allows, never raises it.
    """
    found = arithmetic_of(science, examination)
    peer_review = reviewed if PEER_REVIEW in science.checks else None
    review = cap_review(peer_review.review, found) if peer_review and peer_review.review else None
    failure = peer_review.failure if peer_review else None
    passed, reasons, warnings = _decide(science, found, peer_review, review)
    return ScienceResult(
        passed=passed,
        reasons=reasons,
        warnings=warnings,
        value_mismatches=found.mismatches,
        domain_violations=found.violations,
        values_plausible=found.plausible,
        values_consistent=found.consistent,
        examination=examination,
        review=review,
        review_failure=failure,
        reviewer=peer_review.reviewer if peer_review else None,
    )


def _decide(
    science: Science, found: Arithmetic, reviewed: Reviewed | None, review: ScientificReview | None
) -> tuple[bool | None, tuple[GateReason, ...], tuple[GateReason, ...]]:
    """Return the verdict, its reasons and its warnings; arithmetic lowered `review`, but not `reviewed`."""
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
