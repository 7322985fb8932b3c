"""Governance's word on the engine's verdict."""

from decimal import Decimal
from typing import Any

import pytest

from aex_models.governance import Action, DecidedBy, Flag, GovernanceResult, Severity, ValidationDecision
from aex_models.results import Verdict
from aex_outcomes.engine.governance import apply_governance, word_of
from tests.libs.outcomes.engine.builders import money, result

FLAGS = tuple(
    Flag(rule=rule, severity=Severity.MAJOR, message="…") for rule in ("velocity", "self_dealing", "velocity")
)
ON_SUCCESS_REJECTED = result(True, False, verdict=Verdict.REJECTED, success=False, bonus="0", penalty="0.5")


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


def test_a_candidate_rejected_under_on_success_never_gains_a_bonus() -> None:
    for action in Action:
        assert apply_governance(ON_SUCCESS_REJECTED, GovernanceResult(action=action)).bonus == 0


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
    assert word_of(decision) == word(expected)


def test_where_nobody_was_asked_nobody_decided() -> None:
    assert word_of(ValidationDecision(valid=True, action=Action.SKIPPED)).decided_by is DecidedBy.NOBODY
