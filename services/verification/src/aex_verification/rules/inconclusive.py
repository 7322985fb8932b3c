"""Why a candidate has no verdict, where no repeat will bring one: it is put before an operator at once."""

from aex_models.governance import HoldCause
from aex_models.results import VerificationResult
from aex_models.science import ReviewFailure
from aex_verification.rules.custom_code import is_fault_of_custom_code


def cause_for_good(result: VerificationResult) -> HoldCause | None:
    """What an indeterminate result rests on that stays as it is; None where trying again may help.

    The reviewer's adapter has asked several times before it calls a review unparsable. One that cannot be reached is
    asked again later, whatever else the verdict lacks.
    """
    failure = result.science.review_failure if result.science else None
    if failure is ReviewFailure.UNPARSABLE:
        return HoldCause.REVIEW_UNPARSABLE
    if failure is None and is_fault_of_custom_code(result):
        return HoldCause.CUSTOM_METRIC_FAILED
    return None
