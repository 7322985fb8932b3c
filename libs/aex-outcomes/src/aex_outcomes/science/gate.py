"""The science gate: what arithmetic found, and what a reviewer says within the bounds of that (spec file 4).

Where a review is demanded and could not be had, the gate cannot tell, whatever arithmetic found: the reasons name both,
nobody's attempt is counted, and nothing passes.
"""

from aex_models.examination import Examination
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
from aex_models.science_checks import PEER_REVIEW
from aex_outcomes.science.arithmetic import Arithmetic, arithmetic_of
from aex_outcomes.science.caps import capped
from aex_outcomes.science.review.port import Reviewed

_REJECTED = GateReason(
    code="review_rejected", message="A peer review found the result wrong, invalid or not acceptable"
)
_QUESTIONABLE = GateReason(code="review_questionable", message="A peer review did not find the result wholly sound")
_FAILURES = {
    ReviewFailure.UNPARSABLE: "The reviewer gave no readable review",
    ReviewFailure.UNREACHABLE: "No reviewer could be reached",
}


def conclude(science: Science, examination: Examination, reviewed: Reviewed | None) -> ScienceResult:
    """The gate's word on one candidate.

    `science`: the work's demands, of which `checks` and `strict` are read. `examination`: what arithmetic found.
    `reviewed`: what came of asking a reviewer; None where there is none. It is left out where the work does not
    demand `peer_review`. Arithmetic is never overruled: a review lowers what it allows and raises nothing.
    """
    found = arithmetic_of(science, examination)
    asked = reviewed if PEER_REVIEW in science.checks else None
    review = capped(asked.review, found) if asked and asked.review else None
    failure = asked.failure if asked else None
    passed, reasons, warnings = _decided(science, found, asked, review)
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
        reviewer=asked.reviewer if asked else None,
    )


_Decision = tuple[bool | None, tuple[GateReason, ...], tuple[GateReason, ...]]


def _decided(science: Science, found: Arithmetic, asked: Reviewed | None, review: ScientificReview | None) -> _Decision:
    missing = _cannot_tell(science, found, asked)
    if missing:
        return None, (*missing, *found.reasons), ()
    if asked is None or asked.review is None or review is None:
        return not found.reasons, found.reasons, ()
    reasons = (*found.reasons, *_readers_reasons(asked.review))
    if _is_refused(review):
        return False, reasons, ()
    if _is_clean(review):
        return True, (), ()
    return (False, reasons, ()) if science.strict else (True, (), reasons)


def _cannot_tell(science: Science, found: Arithmetic, asked: Reviewed | None) -> tuple[GateReason, ...]:
    failure = asked.failure if asked else None
    if asked is None and set(science.checks) == {PEER_REVIEW}:
        failure = ReviewFailure.UNREACHABLE  # nothing else was checked, and unknown is no pass
    told = (GateReason(code=failure.value, message=_FAILURES[failure]),) if failure else ()
    return (*found.unavailable, *told)


def _readers_reasons(review: ScientificReview) -> tuple[GateReason, ...]:
    """Of what the reader said, before arithmetic capped it."""
    if _is_refused(review):
        return (_REJECTED,)
    return () if _is_clean(review) else (_QUESTIONABLE,)


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
