"""Validations and holds: decided once, kept for good."""

import asyncio

import pytest

from aex_governance.handlers.holds import decide_hold, get_hold, open_hold
from aex_governance.handlers.log_outcome import log_outcome
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.repository.holds import hold_id_of
from aex_governance.repository.log import OUTCOMES, VALIDATIONS
from aex_models.contract import ContractStatus
from aex_models.events import OutcomeHeld, OutcomeVerified
from aex_models.governance import Action, Decision, Flag, HoldCause, HoldDecision, HoldStatus, Severity
from aex_runtime.errors import Conflict, NotFound
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.store.keys import key_of
from tests.services.governance.asking import an_ended, asked
from tests.services.governance.kit import Desk, desk_over

FLAG = Flag(rule="self_dealing", severity=Severity.CRITICAL, message="same", evidence={"id": "x"})
HELD = OutcomeHeld(contract_id="ctr_1", attempt_id="att_1", cause=HoldCause.FRAUD_SUSPECTED, flags=(FLAG,))
NO_KEY = IdempotentRequest("operator", None, "")


@pytest.fixture
def bench() -> Desk:
    return desk_over()


async def test_a_repeated_question_gets_the_stored_answer(bench: Desk) -> None:
    first = await validate_outcome(bench.deps, asked(extracted_metrics={"accuracy": 7}))
    again = await validate_outcome(bench.deps, asked(extracted_metrics={"accuracy": 0.7}))
    assert first == again
    assert first.action is Action.REJECT


async def test_the_log_keeps_no_output_text(bench: Desk) -> None:
    await validate_outcome(bench.deps, asked(output_text="the whole text"))
    stored = await VALIDATIONS.get(bench.deps.store, key_of("att_1"))
    assert stored is not None
    assert b"the whole text" not in stored.document.body


async def test_a_replayed_hold_is_one_hold(bench: Desk) -> None:
    await open_hold(bench.deps, HELD)
    await open_hold(bench.deps, HELD)
    hold = await get_hold(bench.deps, hold_id_of("att_1"))
    assert hold.status is HoldStatus.WAITING
    assert hold.flags == (FLAG,)


async def test_a_replayed_hold_does_not_undo_a_decision(bench: Desk) -> None:
    await open_hold(bench.deps, HELD)
    hold_id = hold_id_of("att_1")
    await decide_hold(bench.deps, "olga", hold_id, HoldDecision(decision=Decision.REJECT, reason="copied"), NO_KEY)
    await open_hold(bench.deps, HELD)
    assert (await get_hold(bench.deps, hold_id)).status is HoldStatus.DECIDED


async def test_of_two_operators_the_first_decides(bench: Desk) -> None:
    await open_hold(bench.deps, HELD)
    hold_id = hold_id_of("att_1")
    answers = await asyncio.gather(
        *(
            decide_hold(bench.deps, who, hold_id, HoldDecision(decision=decision, reason="seen"), NO_KEY)
            for who, decision in (("olga", Decision.RELEASE), ("omar", Decision.REJECT))
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, Conflict) for answer in answers) == 1
    hold = await get_hold(bench.deps, hold_id)
    assert hold.decided_by == ("omar" if isinstance(answers[0], Conflict) else "olga")
    assert bench.events == ["outcome.reviewed"]


async def test_an_unknown_hold_is_not_found(bench: Desk) -> None:
    with pytest.raises(NotFound):
        await decide_hold(bench.deps, "olga", "hold_x", HoldDecision(decision=Decision.RETRY, reason="?"), NO_KEY)


async def test_an_outcome_is_logged_once(bench: Desk) -> None:
    record = an_ended("ctr_1", ContractStatus.EXPIRED)
    for _ in range(2):
        await log_outcome(bench.deps, OutcomeVerified(outcome=record))
    stored = await OUTCOMES.get(bench.deps.store, key_of("ctr_1"))
    assert stored is not None
    assert (stored.record.success, stored.document.version) == (False, 1)
