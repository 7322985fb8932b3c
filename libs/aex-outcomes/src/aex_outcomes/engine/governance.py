"""Governance's word, applied to the engine's verdict. Applying a later word (an operator's) undoes an earlier hold."""

from decimal import Decimal

from aex_models.governance import Action, DecidedBy, GovernanceResult, ValidationDecision
from aex_models.money import ZERO
from aex_models.results import Verdict, VerificationResult

VALID = frozenset({Action.ALLOW, Action.SKIPPED})
"""The actions under which an outcome can succeed."""


def apply_governance(result: VerificationResult, word: GovernanceResult) -> VerificationResult:
    """The result with governance's word: success needs it valid, and so does every bonus.

    The verdict stays the engine's own, and so does the penalty. An indeterminate one earns nothing, unless an
    operator releases it: then it is passed, a success, with bonus and penalty 0 (spec file 5).
    """
    released = word.decided_by is DecidedBy.OPERATOR and word.action is Action.ALLOW
    unjudged = result.verdict is Verdict.INDETERMINATE
    verdict = Verdict.PASSED if unjudged and released else result.verdict
    return result.model_copy(
        update={
            "verdict": verdict,
            "success": verdict is Verdict.PASSED and word.action in VALID,
            "bonus": ZERO if unjudged else _bonus(result, word.action),
            "penalty": ZERO if unjudged else result.penalty,
            "governance": word,
            "governance_flags": tuple(dict.fromkeys(flag.rule for flag in word.flags)),
        }
    )


def word_of(decision: ValidationDecision) -> GovernanceResult:
    """A decision of the rules, as the result carries it. What is not valid is never allowed."""
    unfounded = decision.action in VALID and not decision.valid
    action = Action.HOLD if unfounded else decision.action
    decided_by = DecidedBy.NOBODY if action is Action.SKIPPED else DecidedBy.RULES
    return GovernanceResult(action=action, decided_by=decided_by, flags=decision.flags)


def _bonus(result: VerificationResult, action: Action) -> Decimal:
    """The bonus under this word.

    A passed candidate has earned every met criterion's under both policies, so that it can be told from the
    criteria alone. A rejected one has what `per_criterion` left it: a hold must not take it for good.
    """
    if action is Action.REJECT:
        return ZERO
    if result.verdict is not Verdict.PASSED:
        return result.bonus
    return sum((each.bonus for each in result.criterion_results if each.met), ZERO) if action in VALID else ZERO
