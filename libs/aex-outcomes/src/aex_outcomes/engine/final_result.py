"""The engine's result with a verifier's ruling, bonus and penalty, and governance's decision.

The amounts are those before the budget's caps. A later decision (an operator's) undoes an earlier hold.
"""

from collections.abc import Iterable
from decimal import Decimal

from aex_models.criteria import BonusPolicy
from aex_models.governance import Action, DecidedBy, GovernanceResult, ValidationDecision
from aex_models.money import ZERO
from aex_models.results import CriterionResult, Verdict, VerificationResult
from aex_outcomes.lifecycle.ruling import Accepted, Rejected

_VALID_ACTIONS = frozenset({Action.ALLOW, Action.SKIPPED})
"""The actions under which an outcome can succeed."""


def apply_governance(result: VerificationResult, decision_result: GovernanceResult) -> VerificationResult:
    """Return the result under governance's decision: success and every bonus need a valid action.

    The engine's verdict and penalty stay. An indeterminate result earns nothing; an operator's release makes it a
    success with bonus and penalty 0 (spec file 5).
    """
    is_released = decision_result.decided_by is DecidedBy.OPERATOR and decision_result.action is Action.ALLOW
    is_indeterminate = result.verdict is Verdict.INDETERMINATE
    verdict = Verdict.PASSED if is_indeterminate and is_released else result.verdict
    return result.model_copy(
        update={
            "verdict": verdict,
            "success": verdict is Verdict.PASSED and decision_result.action in _VALID_ACTIONS,
            "bonus": ZERO if is_indeterminate else _bonus(result, decision_result.action),
            "penalty": ZERO if is_indeterminate else result.penalty,
            "governance": decision_result,
            "governance_flags": tuple(dict.fromkeys(flag.rule for flag in decision_result.flags)),
        }
    )


def governance_result(decision: ValidationDecision) -> GovernanceResult:
    """Return a decision of the rules as the result carries it. An invalid one is never allowed."""
    is_invalid = decision.action in _VALID_ACTIONS and not decision.valid
    action = Action.HOLD if is_invalid else decision.action
    decided_by = DecidedBy.NOBODY if action is Action.SKIPPED else DecidedBy.RULES
    return GovernanceResult(action=action, decided_by=decided_by, flags=decision.flags)


def _bonus(result: VerificationResult, action: Action) -> Decimal:
    """Return the bonus under this action.

    A passed candidate earns the bonus of every met criterion under both policies. A rejected one keeps the bonus that
    `per_criterion` left it, so that a hold does not remove it.
    """
    if action is Action.REJECT:
        return ZERO
    if result.verdict is not Verdict.PASSED:
        return result.bonus
    return sum_earned_bonuses(result.criterion_results, BonusPolicy.ON_SUCCESS, success=action in _VALID_ACTIONS)


def sum_earned_bonuses(results: Iterable[CriterionResult], policy: BonusPolicy, *, success: bool) -> Decimal:
    """Return Σ bonus of met criteria, before governance; under `on_success` 0 without success."""
    if policy is BonusPolicy.ON_SUCCESS and not success:
        return ZERO
    return sum((each.bonus for each in results if each.met), ZERO)


def sum_incurred_penalties(results: Iterable[CriterionResult]) -> Decimal:
    """Return Σ penalty of unmet criteria, whatever the reason."""
    return sum((each.penalty for each in results if not each.met), ZERO)


def combine_with_ruling(
    result: VerificationResult, ruling: Accepted | Rejected, policy: BonusPolicy = BonusPolicy.ON_SUCCESS
) -> VerificationResult:
    """Return the engine's result under a verifier's ruling, before governance.

    A rejection, fatal or not, turns a passed result into a rejected one, with the bonus that `policy` leaves without
    success. Weighted score, criteria and penalty stay. An indeterminate result stays indeterminate, and is retried.
    """
    if isinstance(ruling, Accepted) or result.verdict is not Verdict.PASSED:
        return result
    bonus = sum_earned_bonuses(result.criterion_results, policy, success=False)
    return result.model_copy(update={"verdict": Verdict.REJECTED, "success": False, "bonus": bonus})


def reject_indeterminate(result: VerificationResult) -> VerificationResult:
    """Return an indeterminate result as rejected, when the criteria's last retry has failed.

    A verifier has rejected the candidate, so it counts as an attempt. Its amounts are unknown: no bonus, no penalty.
    """
    return result.model_copy(update={"verdict": Verdict.REJECTED, "success": False, "bonus": ZERO, "penalty": ZERO})
