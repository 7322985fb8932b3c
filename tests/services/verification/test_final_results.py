"""What a named verifier returned, as the outcome carries it."""

from datetime import timedelta

import pytest

from aex_models.contract import ContractStatus
from aex_models.governance import Decision, Party
from aex_runtime.store.keys import key_of
from aex_verification.repository import FINAL_RESULTS
from tests.parts.verification import VerificationBench
from tests.services.verification.flow import (
    DULL,
    GOOD,
    judge,
    opened,
    outcome,
    review,
    status,
)


@pytest.fixture
async def bench() -> VerificationBench:
    return await opened()


async def test_a_verifier_that_returns_nothing_passes_with_nothing() -> None:
    bench = await opened("nothing")
    await judge(bench, GOOD)
    record = await outcome(bench)
    assert (record.final_status, record.final_result) == (ContractStatus.PASSED, None)
    assert record.verification_result is not None
    assert record.verification_result.success


async def test_a_final_result_is_stored_once_under_its_attempt_however_often_the_job_comes(
    bench: VerificationBench,
) -> None:
    bench.governance.down = lambda: True
    row = await judge(bench, GOOD)
    for _ in range(3):
        await bench.deliver("output.submitted")
    bench.governance.down = lambda: False
    await bench.pass_time(timedelta(minutes=2))
    stored = await FINAL_RESULTS.get(bench.store, key_of(row.attempt_id))
    assert stored is not None
    assert (await outcome(bench)).final_result == stored.record.final_result
    assert len(bench.verifiers.asked) == 1


async def test_the_event_of_an_outcome_carries_no_final_result(bench: VerificationBench) -> None:
    await judge(bench, GOOD)
    [event] = bench.emitted("outcome.verified")
    assert "One Two Three" not in str(event.data)


async def test_a_pass_that_is_held_and_released_keeps_its_final_result() -> None:
    bench = await opened(consumer=Party(id="bot"))  # self-dealing
    await judge(bench, GOOD)
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RELEASE)
    assert (await outcome(bench)).final_result["title"] == "One Two Three"


async def test_works_that_name_no_verifier_ask_none() -> None:
    bench = await opened(None)
    row = await judge(bench, DULL)
    assert bench.verifiers.asked == []
    record = await outcome(bench)
    assert (record.final_status, record.final_result) == (ContractStatus.PASSED, {"text": DULL})
    assert await FINAL_RESULTS.get(bench.store, key_of(row.attempt_id)) is None
