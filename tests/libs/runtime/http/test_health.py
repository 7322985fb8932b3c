import asyncio
from pathlib import Path

import pytest

from aex_runtime.http.health import SingleFlight
from aex_runtime.http.metrics import GaugeSpec
from tests.libs.runtime.http.sample import sample


class Slow:
    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self) -> float:
        self.calls += 1
        await asyncio.sleep(0.05)
        return self.calls


async def test_concurrent_callers_share_one_call() -> None:
    slow = Slow()
    look = SingleFlight(slow)
    assert await asyncio.gather(*(look() for _ in range(100))) == [1] * 100
    assert await look() == 2


async def test_cancelled_caller_leaves_the_call_running() -> None:
    look = SingleFlight(Slow())
    first, second = asyncio.create_task(look()), asyncio.create_task(look())
    await asyncio.sleep(0.01)
    first.cancel()
    assert await second == 1
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_flood_of_scrapes_and_probes_reads_each_part_once(tmp_path: Path) -> None:
    slow, probed = Slow(), 0

    async def probe() -> None:
        nonlocal probed
        probed += 1
        await asyncio.sleep(0.05)

    made = sample(tmp_path, gauges=[GaugeSpec("aex_slow", "A slow one", slow)], probes={"slow": probe})
    async with made.client(role=None) as client:
        paths = ["/metrics", "/readyz"] * 50
        answers = await asyncio.gather(*(client.get(path) for path in paths))
    assert {answer.status_code for answer in answers} == {200}
    assert slow.calls < 10
    assert probed < 10
