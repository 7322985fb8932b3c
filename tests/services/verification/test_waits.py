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


async def test_where_another_replica_was_at_work_the_next_waits_look_soon() -> None:
    waits = Waits(look_again_s=3)

    async def wait(within_s: float) -> int:
        looks = Looks()
        waiting = asyncio.create_task(waits.until("att_1", 20, looks.look, bool))
        await asyncio.sleep(0)
        looks.at = True  # and nobody wakes
        async with asyncio.timeout(within_s):
            assert await waiting
        return looks.count

    assert await wait(10) == 2
    assert await wait(2) == 2


async def test_where_all_is_this_process_s_own_work_nobody_looks_in_vain() -> None:
    waits, woken, later = Waits(look_again_s=3), Looks(), Looks()
    waiting = asyncio.create_task(waits.until("att_1", 20, woken.look, bool))
    await asyncio.sleep(0)
    woken.at = True
    waits.wake("att_1")
    await waiting
    await waits.until("att_2", 0.5, later.look, bool)
    assert later.count <= 3  # as it came, and as its time was over


async def test_what_takes_long_is_looked_for_ever_less_often() -> None:
    waits, quick, slow = Waits(look_again_s=0.5), Looks(), Looks()
    waiting = asyncio.create_task(waits.until("att_1", 20, quick.look, bool))
    await asyncio.sleep(0)
    quick.at = True
    await waiting
    await waits.until("att_2", 1.9, slow.look, bool)
    assert 4 < slow.count <= 9  # after 0.04, 0.12, 0.28, 0.6, 1.1, 1.6, 1.9
