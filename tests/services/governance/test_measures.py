"""Counters of decisions, flags and holds, and the gauge of waiting holds."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from aex_governance.handlers.decide_hold import decide_hold, open_hold
from aex_governance.handlers.read_holds import MAX_COUNT, count_waiting_holds
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.repository import hold_id_of
from aex_models.events import OutcomeHeld
from aex_models.governance import HoldCause, HoldDecision
from aex_runtime.errors import Conflict
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.unit_of_work import UnitOfWork
from tests.parts.measured import Measured
from tests.services.governance.client import Client, make_flag, open_client
from tests.services.governance.process import Process, open_process
from tests.services.governance.requests import validation_request

KEYLESS = IdempotentRequest("", None, "")


@pytest.fixture
def measured() -> Measured:
    return Measured()


@pytest.fixture
def process(measured: Measured) -> Process:
    made = open_process()
    unit_of_work = UnitOfWork("governance", made.deps.store, made.clock, made.committed.append, measured)
    return replace(made, deps=replace(made.deps, unit_of_work=unit_of_work))


async def test_repeated_requests_count_decisions_and_flags_once(process: Process, measured: Measured) -> None:
    for _ in range(3):
        await validate_outcome(process.deps, validation_request())
        await validate_outcome(process.deps, validation_request(attempt_id="att_2", consumer={"id": "bot"}))
    assert measured.counted == {
        ("aex_validations_total", "allow"): 1,
        ("aex_validations_total", "hold"): 1,
        ("aex_flags_total", "self_dealing"): 1,
    }


async def test_opened_and_decided_holds_count_once(process: Process, measured: Measured) -> None:
    held = OutcomeHeld(contract_id="ctr_1", attempt_id="att_1", cause=HoldCause.CUSTOM_METRIC_FAILED)
    for _ in range(2):
        await open_hold(process.deps, held)
    decision = HoldDecision.model_validate({"decision": "retry", "reason": "the code was mended"})
    await decide_hold(process.deps, "olga", hold_id_of("att_1"), decision, KEYLESS)
    with pytest.raises(Conflict):
        await decide_hold(process.deps, "omar", hold_id_of("att_1"), decision, KEYLESS)
    assert measured.counted == {
        ("aex_holds_opened_total", "custom_metric_failed"): 1,
        ("aex_holds_decided_total", "retry"): 1,
    }


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with open_client(tmp_path / "data") as opened:
        yield opened


async def test_metric_counts_a_bounded_number_of_waiting_holds(client: Client) -> None:
    first = await client.hold(0, make_flag())
    for number in range(1, MAX_COUNT + 3):
        await client.hold(number, make_flag())
    assert await count_waiting_holds(client.deps) == MAX_COUNT
    text = (await client.http.get("/metrics")).text
    assert f'aex_holds_waiting{{service="governance"}} {MAX_COUNT}.0' in text
    await client.decide(first.hold_id)
    assert (
        'aex_holds_decided_total{decision="release",service="governance"} 1.0'
        in (await client.http.get("/metrics")).text
    )
