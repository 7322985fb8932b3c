import asyncio

from aex_verification.notifier import Notifier
from tests.services.verification.virtual_time import in_virtual_time


class Reads:
    def __init__(self) -> None:
        self.count = 0
        self.at = False

    async def read(self) -> bool:
        self.count += 1
        return self.at


async def wait(waits: Notifier, *, wakes: bool) -> tuple[float, int]:
    """Change what a wait reads once it has begun; return how long it lasted, and its reads."""
    reads, begun = Reads(), asyncio.get_running_loop().time()
    waiting = asyncio.create_task(waits.read_until_done("att_1", 20, reads.read, bool))
    await asyncio.sleep(0)
    reads.at = True
    if wakes:
        waits.wake("att_1")
    assert await waiting
    return round(asyncio.get_running_loop().time() - begun, 6), reads.count


@in_virtual_time
async def test_woken_wait_ends() -> None:
    assert await wait(Notifier(), wakes=True) == (0, 2)


@in_virtual_time
async def test_waits_beyond_the_limit_return_at_once() -> None:
    waits, reads = Notifier(limit=1), Reads()
    waiting = asyncio.create_task(waits.read_until_done("att_1", 20, reads.read, bool))
    await asyncio.sleep(0)
    assert not await waits.read_until_done("att_2", 20, reads.read, bool)
    assert (reads.count, asyncio.get_running_loop().time()) == (2, 0)
    waiting.cancel()


@in_virtual_time
async def test_many_waits_share_one_polling_rate() -> None:
    alone, many = Reads(), Reads()
    await Notifier().read_until_done("att_0", 7.9, alone.read, bool)
    waits = Notifier()
    await asyncio.gather(*(waits.read_until_done(f"att_{n}", 7.9, many.read, bool) for n in range(100)))
    assert many.count < 0.65 * 100 * alone.count  # the full rate is that of 50 waits


@in_virtual_time
async def test_waits_poll_early_after_another_replicas_change() -> None:
    waits, slow = Notifier(poll_s=1), Reads()
    assert [await wait(waits, wakes=False) for _ in range(2)] == [(1, 2), (0.04, 2)]
    await waits.read_until_done("att_2", 0.7, slow.read, bool)
    assert slow.count == 7  # at once, after 0.04, 0.12, 0.28, 0.6 and 0.7 s, and at the end


@in_virtual_time
async def test_own_changes_cause_no_early_polls() -> None:
    waits, later = Notifier(poll_s=3), Reads()
    await wait(waits, wakes=True)
    await waits.read_until_done("att_2", 0.5, later.read, bool)
    assert later.count == 3  # at once, after 0.5 s, and at the end
