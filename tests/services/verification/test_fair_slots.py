import asyncio
from collections import Counter
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_verification.fair_slots import FairSlots, NoSlot
from tests.services.verification.virtual_time import in_virtual_time


class Callers:
    """Callers of slots, each in a task that holds its slot for a time."""

    def __init__(self, slots: FairSlots, holds_s: float = 1.0) -> None:
        self.slots, self.holds_s = slots, holds_s
        self.started: list[str] = []
        self.holding = Counter[str]()
        self.peak = Counter[str]()

    def start(self, caller: str) -> "asyncio.Task[None]":
        return asyncio.create_task(self._hold(caller))

    async def _hold(self, caller: str) -> None:
        with ExitStack() as slot:
            await self.slots.acquire(caller, slot)
            self.started.append(caller)
            self.holding[caller] += 1
            self.peak |= self.holding
            assert self.holding.total() <= self.slots.in_use  # a slot is given before its task runs
            try:
                await asyncio.sleep(self.holds_s)
            finally:
                self.holding[caller] -= 1


@in_virtual_time
async def test_waiting_callers_have_slots_in_turn_and_one_is_kept() -> None:
    callers = Callers(FairSlots(3, 100))
    tasks = [callers.start(caller) for caller in "aaaaaabbc"]
    await asyncio.sleep(0.5)
    assert callers.started == ["a", "a", "b"]  # the last slot is not for a third of a
    await asyncio.sleep(1)
    assert callers.started[3:] == ["c", "b", "a"]  # the first that was free again was for c, which held none
    await asyncio.gather(*tasks)
    assert callers.peak == {"a": 2, "b": 1, "c": 1}
    assert (callers.slots.in_use, callers.slots.waiting) == (0, 0)


@in_virtual_time
async def test_single_slot_goes_to_one_after_the_other() -> None:
    callers = Callers(FairSlots(1, 100))
    await asyncio.gather(*(callers.start(caller) for caller in "aaaab"))
    assert callers.started == ["a", "a", "b", "a", "a"]


@in_virtual_time
async def test_newest_wait_of_the_longest_queue_gives_way() -> None:
    callers = Callers(FairSlots(2, 2))
    tasks = [callers.start(caller) for caller in "aaaabc"]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in results] == [type(None)] * 2 + [NoSlot] * 2 + [type(None)] * 2
    assert Counter(callers.started) == {"a": 2, "b": 1, "c": 1}
    assert not callers.slots.in_use


@in_virtual_time
async def test_wait_cancelled_in_the_moment_of_its_turn_returns_the_slot() -> None:
    slots = FairSlots(1, 10)
    held = ExitStack()
    assert slots.try_acquire("a", held)
    callers = Callers(slots)
    waits = [callers.start("b"), callers.start("c")]
    await asyncio.sleep(0)
    held.close()
    waits[0].cancel()
    await waits[1]
    assert (callers.started, slots.in_use, slots.waiting) == (["c"], 0, 0)


@pytest.mark.parametrize("total", [1, 2, 6])
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([0.0, 0.4, 1.0]), st.booleans()), max_size=40))
def test_every_wait_ends_and_no_caller_has_the_last_slot_beside_others(
    total: int, arrivals: list[tuple[str, float, bool]]
) -> None:
    @in_virtual_time
    async def run() -> None:
        callers = Callers(FairSlots(total, 100))
        tasks = []
        for caller, pause_s, is_cancelled in arrivals:
            tasks.append(callers.start(caller))
            await asyncio.sleep(pause_s)
            if is_cancelled:
                tasks[-1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (callers.slots.in_use, callers.slots.waiting) == (0, 0)
        assert all(peak <= max(total - 1, 1) for peak in callers.peak.values())
        assert len(callers.started) >= sum(not is_cancelled for *_, is_cancelled in arrivals)

    run()
