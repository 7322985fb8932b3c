import asyncio
import time
from collections.abc import Awaitable
from typing import Any

import pytest

from aex_outcomes.confinement.pool import WorkerPool
from tests.libs.outcomes.confinement.service import JOBS

BEAT_S = 0.005


async def lags_during(work: Awaitable[Any]) -> list[float]:
    task = asyncio.ensure_future(work)
    lags = []
    while not task.done():
        started = time.perf_counter()
        await asyncio.sleep(BEAT_S)
        lags.append(time.perf_counter() - started - BEAT_S)
    await task
    return sorted(lags)


def assert_steady(lags: list[float], beats: int) -> None:
    assert len(lags) >= beats
    assert lags[len(lags) * 3 // 4] < 0.05
    assert lags[-1] < 1.0


async def test_jobs_that_burn_the_processor_do_not_hold_up_the_loop() -> None:
    async with WorkerPool(2, jobs=[JOBS + "burn"]) as pool:
        lags = await lags_during(asyncio.gather(*(pool.run(JOBS + "burn", {"seconds": 1.2}) for _ in range(2))))
    assert_steady(lags, beats=20)


@pytest.mark.parametrize(
    "payload",
    [{"text": "naïve 文 " * 1_200_000}, {"rows": [{"label": "cat", "id": str(n)} for n in range(250_000)]}],
    ids=["one long text", "many rows"],
)
async def test_a_payload_of_ten_megabytes_does_not_hold_up_the_loop(payload: dict[str, Any]) -> None:
    async with WorkerPool(1, jobs=[JOBS + "nothing"], spares=0) as pool:
        lags = await lags_during(pool.run(JOBS + "nothing", payload))
    assert_steady(lags, beats=5)
