"""Final result of a verification: engine's result, verifier's ruling and governance's decision.

Bonus and penalty are amounts before the budget's caps. They are computed for each decision, so that an operator's
later decision undoes an earlier hold.
"""

from collections.abc import Iterable
from decimal import Decimal

from aex_models.criteria import BonusPolicy
from aex_models.governance import Action, DecidedBy, GovernanceResult, ValidationDecision
from aex_models.money import ZERO
from aex_models.results import CriterionResult, Verdict, VerificationResult
from aex_outcomes.lifecycle.ruling import Accepted, Rejected

_VALID_ACTIONS = frozenset({Action.ALLOW, Action.SKIPPED})
"""Actions of governance under which an outcome can succeed."""


def apply_governance(result: VerificationResult, governance: GovernanceResult) -> VerificationResult:
    """Return the result with governance's decision, and with the success and the bonus that it allows.

    Verdict and penalty stay, unless the result is indeterminate: then bonus and penalty are 0, and an operator's
    release makes it passed (spec file 5).
    """
    is_released = governance.decided_by is DecidedBy.OPERATOR and governance.action is Action.ALLOW
    is_indeterminate = result.verdict is Verdict.INDETERMINATE
    verdict = Verdict.PASSED if is_indeterminate and is_released else result.verdict
    return result.model_copy(
        update={
            "verdict": verdict,
            "success": verdict is Verdict.PASSED and governance.action in _VALID_ACTIONS,
            "bonus": ZERO if is_indeterminate else _bonus(result, governance.action),
            "penalty": ZERO if is_indeterminate else result.penalty,
            "governance": governance,
            "governance_flags": tuple(dict.fromkeys(flag.rule for flag in governance.flags)),
        }
    )


def governance_result(decision: ValidationDecision) -> GovernanceResult:
    """Convert the decision of governance's rules; one that allows an invalid outcome becomes a hold."""
    is_invalid = decision.action in _VALID_ACTIONS and not decision.valid
    action = Action.HOLD if is_invalid else decision.action
    decided_by = DecidedBy.NOBODY if action is Action.SKIPPED else DecidedBy.RULES
    return GovernanceResult(action=action, decided_by=decided_by, flags=decision.flags)


def _bonus(result: VerificationResult, action: Action) -> Decimal:
    """Return the bonus that governance's action leaves.

    A rejection leaves none. A passed candidate earns the bonus of every met criterion if the action is allow or
    skipped, otherwise none. A candidate that did not pass keeps the bonus that the policy `per_criterion` gave it, so
    that a hold does not remove it.
    """
    if action is Action.REJECT:
        return ZERO
    if result.verdict is not Verdict.PASSED:
        return result.bonus
    return sum_earned_bonuses(result.criterion_results, BonusPolicy.ON_SUCCESS, success=action in _VALID_ACTIONS)


def sum_earned_bonuses(results: Iterable[CriterionResult], policy: BonusPolicy, *, success: bool) -> Decimal:
    """Return the sum of the met criteria's bonuses; 0 if the policy is `on_success` and not `success`."""
    if policy is BonusPolicy.ON_SUCCESS and not success:
        return ZERO
    return sum((each.bonus for each in results if each.met), ZERO)


def sum_incurred_penalties(results: Iterable[CriterionResult]) -> Decimal:
    """Return the sum of the unmet criteria's penalties, also of those unmet by an error."""
    return sum((each.penalty for each in results if not each.met), ZERO)


def combine_with_ruling(
    result: VerificationResult, ruling: Accepted | Rejected, policy: BonusPolicy = BonusPolicy.ON_SUCCESS
) -> VerificationResult:
    """Return the engine's result after a verifier's ruling, before governance.

    A rejection, fatal or not, turns a passed result into a rejected one, with the bonus that `policy` leaves without
    success. Weighted score, criteria and penalty stay. Other results stay as they are, also an indeterminate one.
    """
    if isinstance(ruling, Accepted) or result.verdict is not Verdict.PASSED:
        return result
    bonus = sum_earned_bonuses(result.criterion_results, policy, success=False)
    return result.model_copy(update={"verdict": Verdict.REJECTED, "success": False, "bonus": bonus})


def as_rejected_without_amounts(result: VerificationResult) -> VerificationResult:
    """Return the result as rejected, with bonus and penalty 0, whatever its verdict.

    It serves for an indeterminate result of a candidate that a verifier rejected. The last retry to evaluate the
    criteria has then failed, and the candidate uses an attempt.
    """
    return result.model_copy(update={"verdict": Verdict.REJECTED, "success": False, "bonus": ZERO, "penalty": ZERO})
