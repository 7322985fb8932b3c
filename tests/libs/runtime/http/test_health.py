import asyncio
from pathlib import Path

import pytest

from aex_runtime.http.health import SingleFlight
from aex_runtime.http.metrics import GaugeSpec
from tests.libs.runtime.http.sample import sample, until


class Held:
    """Call that ends when it is released."""

    def __init__(self) -> None:
        self.calls, self.released = 0, asyncio.Event()

    async def __call__(self) -> float:
        self.calls += 1
        await self.released.wait()
        return self.calls

    async def probe(self) -> None:
        await self()


async def test_concurrent_callers_share_one_call_that_none_of_them_cancels() -> None:
    held = Held()
    look = SingleFlight(held)
    callers = [asyncio.create_task(look()) for _ in range(100)]
    await until(lambda: held.calls == 1)
    callers[0].cancel()
    held.released.set()
    with pytest.raises(asyncio.CancelledError):
        await callers[0]
    assert await asyncio.gather(*callers[1:]) == [1] * 99
    assert await look() == 2


async def test_a_flood_of_scrapes_and_probes_reads_each_part_once(tmp_path: Path) -> None:
    gauge, probed = Held(), Held()
    made = sample(tmp_path, gauges=[GaugeSpec("aex_slow", "A slow one", gauge)], probes={"slow": probed.probe})
    async with made.client(role=None) as client:
        answers = [asyncio.create_task(client.get(path)) for path in ["/metrics", "/readyz"] * 50]
        await until(lambda: gauge.calls == probed.calls == 1)
        for _ in range(1_000):  # turns of the loop, for all requests to arrive
            await asyncio.sleep(0)
        gauge.released.set()
        probed.released.set()
        assert {answer.status_code for answer in await asyncio.gather(*answers)} == {200}
    assert gauge.calls < 10
    assert probed.calls < 10
