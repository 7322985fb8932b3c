"""Whoever asks while a look is under way shares it; the next one looks anew."""

import asyncio
from pathlib import Path

import pytest

from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.http.shared import SharedLook
from tests.libs.runtime.http.sample import sample


class Slow:
    """Counts how often it is asked, and takes a moment."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self) -> float:
        self.asked += 1
        await asyncio.sleep(0.05)
        return self.asked


async def test_many_who_ask_at_once_share_one_look() -> None:
    slow = Slow()
    look = SharedLook(slow)
    assert await asyncio.gather(*(look() for _ in range(100))) == [1] * 100
    assert await look() == 2


async def test_one_who_goes_away_takes_nothing_from_the_others() -> None:
    look = SharedLook(Slow())
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

    made = sample(tmp_path, gauges=[GaugeSpec("aex_slow", "A slow one", slow)], ready={"slow": probe})
    async with made.client(role=None) as client:
        paths = ["/metrics", "/readyz"] * 50
        answers = await asyncio.gather(*(client.get(path) for path in paths))
    assert {answer.status_code for answer in answers} == {200}
    assert slow.asked < 10
    assert probed < 10
