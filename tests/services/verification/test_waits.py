"""Requests that wait for a verdict."""

import asyncio

from aex_verification.waits import Waits


class Looks:
    """How often somebody looked; `done` once `at` is set."""

    def __init__(self) -> None:
        self.count = 0
        self.at = False

    async def look(self) -> bool:
        self.count += 1
        return self.at


async def test_a_wait_ends_as_soon_as_it_is_woken() -> None:
    waits, looks = Waits(), Looks()
    waiting = asyncio.create_task(waits.until("att_1", 20, looks.look, bool))
    await asyncio.sleep(0)
    looks.at = True
    waits.wake("att_1")
    async with asyncio.timeout(5):
        assert await waiting


async def test_beyond_the_limit_nobody_waits() -> None:
    waits, looks = Waits(limit=1), Looks()
    waiting = asyncio.create_task(waits.until("att_1", 20, looks.look, bool))
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        assert not await waits.until("att_2", 20, looks.look, bool)
    waiting.cancel()


async def test_many_waits_look_no_oftener_than_some() -> None:
    waits, looks = Waits(), Looks()
    await asyncio.gather(*(waits.until(f"att_{n}", 1.8, looks.look, bool) for n in range(400)))
    assert looks.count < 4 * 400  # a single one looks six times
