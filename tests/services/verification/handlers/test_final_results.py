from datetime import timedelta

import pytest

from aex_models.contract import ContractStatus
from aex_models.governance import Decision, Party
from aex_runtime.store.port import key_of
from aex_verification.repository import FINAL_RESULTS
from tests.parts.verification import VerificationBench
from tests.services.verification.flow import DULL, GOOD, grade, opened, outcome, review, status


@pytest.fixture
async def bench() -> VerificationBench:
    return await opened()


async def test_verifier_without_a_result_passes() -> None:
    bench = await opened("nothing")
    await grade(bench, GOOD)
    record = await outcome(bench)
    assert (record.final_status, record.final_result) == (ContractStatus.PASSED, None)


async def test_final_result_is_stored_once_for_its_attempt(bench: VerificationBench) -> None:
    bench.governance.down = lambda: True
    row = await grade(bench, GOOD)
    for _ in range(3):
        await bench.deliver("output.submitted")
    bench.governance.down = lambda: False
    await bench.pass_time(timedelta(minutes=2))
    stored = await FINAL_RESULTS.get(bench.store, key_of(row.attempt_id))
    assert stored is not None
    assert (await outcome(bench)).final_result == stored.record.final_result
    assert len(bench.verifiers.requests) == 1


async def test_released_pass_keeps_its_final_result() -> None:
    bench = await opened(consumer=Party(id="bot"))  # self-dealing
    await grade(bench, GOOD)
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RELEASE)
    assert (await outcome(bench)).final_result["title"] == "One Two Three"


async def test_work_without_a_verifier_calls_none() -> None:
    bench = await opened(None)
    row = await grade(bench, DULL)
    assert bench.verifiers.requests == []
    record = await outcome(bench)
    assert (record.final_status, record.final_result) == (ContractStatus.PASSED, {"text": DULL})
    assert await FINAL_RESULTS.get(bench.store, key_of(row.attempt_id)) is None
