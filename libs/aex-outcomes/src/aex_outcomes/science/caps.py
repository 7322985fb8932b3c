"""What a review may say beside the arithmetic: lowered where that allows less, raised nowhere."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from aex_models.science import OutcomeVerdict, Recommendation, ScientificReview, ScientificValidity
from aex_outcomes.science.arithmetic import Arithmetic

_Word = TypeVar("_Word", bound=StrEnum)

VERDICTS = (
    OutcomeVerdict.WRONG_ANSWER,
    OutcomeVerdict.DOES_NOT_ANSWER,
    OutcomeVerdict.PARTIAL_ANSWER,
    OutcomeVerdict.ANSWERS_QUESTION,
)
VALIDITIES = (ScientificValidity.INVALID, ScientificValidity.QUESTIONABLE, ScientificValidity.VALID)
RECOMMENDATIONS = (Recommendation.REJECT, Recommendation.REVISE, Recommendation.ACCEPT)
"""From the worst to the best."""


def capped(review: ScientificReview, found: Arithmetic) -> ScientificReview:
    """The review as the arithmetic allows it.

    A critical mismatch or a violation: at best a wrong answer, invalid, to be rejected. Any other mismatch, and a
    statistic that was not claimed or not recomputed: at best questionable, to be revised. Plausible and consistent are
    what arithmetic says; where that cannot tell, the reader's doubt stays and the reader's trust does not.
    """
    verdict, validity, recommendation = review.outcome_verdict, review.scientific_validity, review.recommendation
    if found.reasons:
        validity = _at_best(validity, ScientificValidity.QUESTIONABLE, VALIDITIES)
        recommendation = _at_best(recommendation, Recommendation.REVISE, RECOMMENDATIONS)
    if found.untenable:
        verdict, validity, recommendation = VERDICTS[0], VALIDITIES[0], RECOMMENDATIONS[0]
    answers = review.answers_original_question if verdict is OutcomeVerdict.ANSWERS_QUESTION else False
    own = tuple(each.model_copy(update={"secret": True}) for each in review.value_mismatches)
    return review.model_copy(
        update={
            "outcome_verdict": verdict,
            "scientific_validity": validity,
            "recommendation": recommendation,
            "answers_original_question": answers,
            "values_plausible": _by_arithmetic(found.plausible, review.values_plausible),
            "values_consistent": _by_arithmetic(found.consistent, review.values_consistent),
            "value_mismatches": found.mismatches or own,
            "domain_violations": tuple(each.message for each in found.violations) or review.domain_violations,
        }
    )


def _at_best(word: _Word, best: _Word, worst_first: Sequence[_Word]) -> _Word:
    return worst_first[min(worst_first.index(word), worst_first.index(best))]


def _by_arithmetic(computed: bool | None, read: bool | None) -> bool | None:
    if computed is not None:
        return computed
    return False if read is False else None
