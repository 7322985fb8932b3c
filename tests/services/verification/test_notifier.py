import asyncio

from aex_verification.notifier import Notifier


class Reads:
    def __init__(self) -> None:
        self.count = 0
        self.at = False

    async def read(self) -> bool:
        self.count += 1
        return self.at


async def test_woken_wait_ends() -> None:
    waits, reads = Notifier(), Reads()
    waiting = asyncio.create_task(waits.wait_for("att_1", 20, reads.read, bool))
    await asyncio.sleep(0)
    reads.at = True
    waits.wake("att_1")
    async with asyncio.timeout(5):
        assert await waiting


async def test_waits_beyond_the_limit_return_at_once() -> None:
    waits, reads = Notifier(limit=1), Reads()
    waiting = asyncio.create_task(waits.wait_for("att_1", 20, reads.read, bool))
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        assert not await waits.wait_for("att_2", 20, reads.read, bool)
    waiting.cancel()


async def test_many_waits_share_one_polling_rate() -> None:
    waits, reads = Notifier(), Reads()
    await asyncio.gather(*(waits.wait_for(f"att_{n}", 1.8, reads.read, bool) for n in range(400)))
    assert reads.count < 4 * 400  # a single one reads six times


async def test_waits_poll_early_after_another_replicas_change() -> None:
    waits = Notifier(poll_s=1)

    async def wait(within_s: float) -> int:
        reads = Reads()
        waiting = asyncio.create_task(waits.wait_for("att_1", 20, reads.read, bool))
        await asyncio.sleep(0)
        reads.at = True  # without a wake-up
        async with asyncio.timeout(within_s):
            assert await waiting
        return reads.count

    assert await wait(10) == 2
    assert await wait(1) == 2
    slow = Reads()
    await waits.wait_for("att_2", 0.7, slow.read, bool)
    assert slow.count <= 8  # at once, and after 0.04, 0.12, 0.28, 0.6 and 0.7 s


async def test_own_changes_cause_no_early_polls() -> None:
    waits, woken, later = Notifier(poll_s=3), Reads(), Reads()
    waiting = asyncio.create_task(waits.wait_for("att_1", 20, woken.read, bool))
    await asyncio.sleep(0)
    woken.at = True
    waits.wake("att_1")
    await waiting
    await waits.wait_for("att_2", 0.5, later.read, bool)
    assert later.count <= 3  # as it came, and as its time was over
