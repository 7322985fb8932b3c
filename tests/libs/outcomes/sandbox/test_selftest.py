"""The self-test passes where the sandbox keeps its promises, and says what is missing where it does not."""

import pytest

from aex_outcomes.confinement.pool import WorkerPool
from tests.libs.outcomes.sandbox.conftest import SELF_TEST


@pytest.mark.asyncio(loop_scope="module")
async def test_it_passes_and_passes_again(pool: WorkerPool) -> None:
    assert await pool.run(SELF_TEST, {}) == {"ok": True, "failures": []}
    assert await pool.run(SELF_TEST, {}) == {"ok": True, "failures": []}


async def test_a_worker_that_may_not_start_processes_fails_it() -> None:
    async with WorkerPool(1, 30, 512, jobs=[SELF_TEST], spares=0, children=False) as pool:
        answer = await pool.run(SELF_TEST, {})
    assert not answer["ok"]
    assert answer["failures"][0].startswith("unavailable: the interpreter does not start")
