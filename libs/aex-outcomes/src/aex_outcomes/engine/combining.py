"""A named verifier's ruling beside the criteria: success needs both, and neither of them is skipped for the other."""

from aex_models.criteria import BonusPolicy
from aex_models.money import ZERO
from aex_models.results import Verdict, VerificationResult
from aex_outcomes.engine.incentives import verified_bonus
from aex_outcomes.lifecycle.ruling import Accepted, Rejected


def under_verifier(
    result: VerificationResult, ruling: Accepted | Rejected, policy: BonusPolicy = BonusPolicy.ON_SUCCESS
) -> VerificationResult:
    """The engine's result as it stands under the verifier's ruling; governance has not spoken yet.

    A rejection, fatal or not, makes a passed result a rejected one, with the bonus that `policy` leaves without
    success. What the criteria found stays as it is: the weighted score, every criterion, and the penalty. An
    indeterminate result stays indeterminate: what the platform could not tell, it tries to tell once more first.
    """
    if isinstance(ruling, Accepted) or result.verdict is not Verdict.PASSED:
        return result
    bonus = verified_bonus(result.criterion_results, policy, success=False)
    return result.model_copy(update={"verdict": Verdict.REJECTED, "success": False, "bonus": bonus})


def rejected_alone(result: VerificationResult) -> VerificationResult:
    """An indeterminate result under a verifier's rejection, once the platform has given up on the criteria.

    Whatever they would have said, the candidate has not passed: it is rejected, and counted. What they would have
    earned or cost is unknown, and nobody's: no bonus, no penalty.
    """
    return result.model_copy(update={"verdict": Verdict.REJECTED, "success": False, "bonus": ZERO, "penalty": ZERO})
