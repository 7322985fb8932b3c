"""What governance counts: decisions by action, flags by rule, holds opened and decided, and how many wait."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from aex_governance.handlers.holds import open_hold
from aex_governance.handlers.holds.decide import decide_hold
from aex_governance.handlers.holds.queue import MOST_COUNTED, how_many_wait
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.repository.holds import hold_id_of
from aex_models.events import OutcomeHeld
from aex_models.governance import HoldCause, HoldDecision
from aex_runtime.errors import Conflict
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.unit_of_work import UnitOfWork
from tests.parts.measured import Measured
from tests.services.governance.asking import asked
from tests.services.governance.kit import Desk, desk_over
from tests.services.governance.review.bureau import Bureau, a_flag, open_bureau

KEYLESS = IdempotentRequest("", None, "")


@pytest.fixture
def measured() -> Measured:
    return Measured()


@pytest.fixture
def desk(measured: Measured) -> Desk:
    made = desk_over()
    unit_of_work = UnitOfWork("governance", made.deps.store, made.clock, made.committed.append, measured)
    return replace(made, deps=replace(made.deps, unit_of_work=unit_of_work))


async def test_decisions_are_counted_by_action_and_flags_by_rule_once_however_often_they_are_asked_for(
    desk: Desk, measured: Measured
) -> None:
    for _ in range(3):
        await validate_outcome(desk.deps, asked())
        await validate_outcome(desk.deps, asked(attempt_id="att_2", consumer={"id": "bot"}))
    assert measured.counted == {
        ("aex_validations_total", "allow"): 1,
        ("aex_validations_total", "hold"): 1,
        ("aex_flags_total", "self_dealing"): 1,
    }


async def test_holds_are_counted_when_they_are_opened_and_when_they_are_decided_once(
    desk: Desk, measured: Measured
) -> None:
    held = OutcomeHeld(contract_id="ctr_1", attempt_id="att_1", cause=HoldCause.CUSTOM_METRIC_FAILED)
    for _ in range(2):
        await open_hold(desk.deps, held)
    decision = HoldDecision.model_validate({"decision": "retry", "reason": "the code was mended"})
    await decide_hold(desk.deps, "olga", hold_id_of("att_1"), decision, KEYLESS)
    with pytest.raises(Conflict):
        await decide_hold(desk.deps, "omar", hold_id_of("att_1"), decision, KEYLESS)
    assert measured.counted == {
        ("aex_holds_opened_total", "custom_metric_failed"): 1,
        ("aex_holds_decided_total", "retry"): 1,
    }


@pytest.fixture
async def bureau(tmp_path: Path) -> AsyncIterator[Bureau]:
    async with open_bureau(tmp_path / "data") as opened:
        yield opened


async def test_a_scrape_tells_how_many_holds_wait_and_reads_a_bounded_number_of_them(bureau: Bureau) -> None:
    first = await bureau.hold(0, a_flag())
    for number in range(1, MOST_COUNTED + 3):
        await bureau.hold(number, a_flag())
    assert await how_many_wait(bureau.deps) == MOST_COUNTED
    text = (await bureau.client.get("/metrics")).text
    assert f'aex_holds_waiting{{service="governance"}} {MOST_COUNTED}.0' in text
    await bureau.decide(first.hold_id)
    assert (
        'aex_holds_decided_total{decision="release",service="governance"} 1.0'
        in (await bureau.client.get("/metrics")).text
    )
