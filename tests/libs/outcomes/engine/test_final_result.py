from decimal import Decimal
from typing import Any

import pytest

from aex_models.criteria import BonusPolicy
from aex_models.examination import Fault
from aex_models.governance import Action, DecidedBy, Flag, GovernanceResult, Severity, ValidationDecision
from aex_models.results import CriterionError, Verdict, VerificationResult
from aex_outcomes.engine.final_result import (
    apply_governance,
    as_rejected_without_amounts,
    combine_with_ruling,
    governance_result,
)
from aex_outcomes.lifecycle.ruling import Accepted, Rejected, Rejection
from tests.libs.outcomes.engine.builders import lengths, money, result, verify

FLAGS = tuple(
    Flag(rule=rule, severity=Severity.MAJOR, message="…") for rule in ("velocity", "self_dealing", "velocity")
)


def word(action: str, decided_by: str = "rules") -> GovernanceResult:
    return GovernanceResult(action=Action(action), decided_by=DecidedBy(decided_by), flags=FLAGS)


def amounts(**more: Any) -> dict[str, Any]:
    return {name: Decimal(amount) for name, amount in more.items()}


@pytest.mark.parametrize(
    ("action", "success", "bonus"), [("allow", True, 2), ("skipped", True, 2), ("hold", False, 0), ("reject", False, 0)]
)
def test_success_and_bonus_need_governances_word(action: str, success: bool, bonus: int) -> None:
    passed = result(True, True).model_copy(update=amounts(bonus="2", penalty="0"))
    found = apply_governance(passed, word(action))
    assert (found.verdict, found.success, money(found)) == (Verdict.PASSED, success, (bonus, 0))
    assert found.governance == word(action)
    assert found.governance_flags == ("velocity", "self_dealing")


def test_a_hold_that_is_released_gives_everything_back() -> None:
    passed = result(True, False).model_copy(update=amounts(bonus="1", penalty="0.5"))
    released = apply_governance(apply_governance(passed, word("hold")), word("allow", "operator"))
    assert (released.success, money(released)) == (True, (1, 0.5))


@pytest.mark.parametrize(("action", "bonus"), [("allow", 1), ("hold", 1), ("reject", 0)])
def test_a_rejected_candidate_keeps_its_per_criterion_bonus_unless_governance_rejects(action: str, bonus: int) -> None:
    rejected = result(True, False, verdict=Verdict.REJECTED, success=False).model_copy(
        update=amounts(bonus="1", penalty="0.5")
    )
    found = apply_governance(rejected, word(action))
    assert (found.verdict, found.success, money(found)) == (Verdict.REJECTED, False, (bonus, 0.5))


def test_an_indeterminate_result_earns_nothing_unless_an_operator_releases_it() -> None:
    torn = result(True, False, verdict=Verdict.INDETERMINATE, success=False)
    allowed = apply_governance(torn, word("allow"))
    assert (allowed.verdict, allowed.success, money(allowed)) == (Verdict.INDETERMINATE, False, (0, 0))
    released = apply_governance(torn, word("allow", "operator"))
    assert (released.verdict, released.success, money(released)) == (Verdict.PASSED, True, (0, 0))


@pytest.mark.parametrize(
    ("valid", "action", "expected"),
    [(True, "allow", "allow"), (False, "hold", "hold"), (False, "reject", "reject"), (False, "allow", "hold")],
)
def test_what_is_not_valid_is_never_allowed(valid: bool, action: str, expected: str) -> None:
    decision = ValidationDecision(valid=valid, action=Action(action), flags=FLAGS)
    assert governance_result(decision) == word(expected)


def test_a_skipped_check_has_no_decider() -> None:
    assert governance_result(ValidationDecision(valid=True, action=Action.SKIPPED)).decided_by is DecidedBy.NOBODY


ON_SUCCESS, PER_CRITERION = BonusPolicy.ON_SUCCESS, BonusPolicy.PER_CRITERION
ACCEPTED = Accepted(final_result={"a": 1})
REJECTED = Rejected(rejection=Rejection(message="too dull"))
FATAL = Rejected(rejection=Rejection(message="hopeless"), fatal=True)
PLATFORM = CriterionError(code="extractor_failed", fault=Fault.PLATFORM)


async def judged(bounds: tuple[int, ...], aggregation: str, policy: BonusPolicy) -> VerificationResult:
    listed = lengths(*bounds, aggregation=aggregation, bonus_policy=policy)
    paid = [each.model_copy(update={"bonus": Decimal(1), "penalty": Decimal("0.5")}) for each in listed.criteria]
    return await verify(listed.model_copy(update={"criteria": tuple(paid)}), {"text": "abc"})


@pytest.mark.parametrize("policy", list(BonusPolicy))
@pytest.mark.parametrize("ruling", [REJECTED, FATAL])
@pytest.mark.parametrize(
    ("aggregation", "bounds", "met"), [("all", (1, 2), 2), ("any", (1, 9), 1), ("weighted", (1, 2, 9), 2)]
)
async def test_a_rejection_takes_success_and_the_bonus_that_depends_on_it_in_every_aggregation(
    aggregation: str, bounds: tuple[int, ...], met: int, ruling: Rejected, policy: BonusPolicy
) -> None:
    engine = await judged(bounds, aggregation, policy)
    assert (engine.verdict, money(engine)[0]) == (Verdict.PASSED, met)
    found = combine_with_ruling(engine, ruling, policy)
    assert (found.verdict, found.success) == (Verdict.REJECTED, False)
    assert money(found) == (met if policy is PER_CRITERION else 0, 0.5 * (len(bounds) - met))
    assert (found.criterion_results, found.weighted_score) == (engine.criterion_results, engine.weighted_score)


@pytest.mark.parametrize("policy", list(BonusPolicy))
@pytest.mark.parametrize("aggregation", ["all", "any", "weighted"])
@pytest.mark.parametrize("bounds", [(1, 2), (1, 9), (8, 9)])
async def test_what_the_verifier_accepts_is_as_the_criteria_say(
    aggregation: str, bounds: tuple[int, ...], policy: BonusPolicy
) -> None:
    engine = await judged(bounds, aggregation, policy)
    assert combine_with_ruling(engine, ACCEPTED, policy) == engine


@pytest.mark.parametrize("policy", list(BonusPolicy))
async def test_what_the_criteria_reject_stays_as_they_rejected_it(policy: BonusPolicy) -> None:
    engine = await judged((1, 9), "all", policy)
    assert money(engine) == (1 if policy is PER_CRITERION else 0, 0.5)
    assert combine_with_ruling(engine, REJECTED, policy) == engine


@pytest.mark.parametrize("ruling", [ACCEPTED, REJECTED, FATAL])
def test_what_the_platform_could_not_decide_stays_open_whatever_the_verifier_says(ruling: Any) -> None:
    torn = result(True, PLATFORM, verdict=Verdict.INDETERMINATE, success=False)
    assert combine_with_ruling(torn, ruling, PER_CRITERION) == torn


def test_a_rejection_decides_alone_after_the_criterias_last_retry() -> None:
    torn = result(True, False, PLATFORM, verdict=Verdict.INDETERMINATE, success=False)
    torn = torn.model_copy(update={"bonus": Decimal(1), "penalty": Decimal(1)})
    found = as_rejected_without_amounts(torn)
    assert (found.verdict, found.success, money(found)) == (Verdict.REJECTED, False, (0, 0))
    assert found.criterion_results == torn.criterion_results
