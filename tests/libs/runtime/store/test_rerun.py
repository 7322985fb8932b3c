import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Contention, Transaction
from aex_runtime.store.rerun import Rerun
from tests.store.contract import WORKS, write


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 100))
def test_wait_is_jittered_fully_and_bounded(jitter: float, lost: int) -> None:
    rerun = Rerun(first_ms=4, longest_ms=1_000, jitter=lambda: jitter)
    assert 0 <= rerun.wait_s(lost) <= min(1.0, 0.004 * 2 ** (lost - 1))
    assert rerun.wait_s(lost) == jitter * min(1_000, 4 * 2.0 ** (lost - 1)) / 1_000


@given(st.floats(0, 10), st.integers(1, 100))
def test_whoever_lost_a_slow_run_waits_in_proportion_to_it(took_s: float, lost: int) -> None:
    rerun = Rerun(first_ms=4, longest_ms=1_000, jitter=lambda: 0.5)
    assert rerun.wait_s(lost, took_s) == 0.5 * min(1_000, max(4, took_s * 1_000) * 2.0 ** (lost - 1)) / 1_000


async def test_transaction_that_always_loses_gives_up_after_its_tries() -> None:
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    store = MemoryStore(Rerun(tries=4, first_ms=8, longest_ms=16, jitter=lambda: 0.5, pause=pause, now=lambda: 0.0))
    await write(store, "w1")

    async def fn(transaction: Transaction) -> None:
        await transaction.get(WORKS, "w1")
        await write(store, "w1")
        transaction.put(WORKS, "w1", b"mine", {})

    with pytest.raises(Contention, match="4 times"):
        await store.transact(fn)
    assert waits == [0.004, 0.008, 0.008]


async def test_waits_grow_from_the_time_that_the_lost_run_took() -> None:
    waits: list[float] = []
    now = 0.0

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    store = MemoryStore(Rerun(tries=4, longest_ms=500, jitter=lambda: 0.5, pause=pause, now=lambda: now))
    await write(store, "w1")

    async def fn(transaction: Transaction) -> None:
        nonlocal now
        now += 0.1
        await transaction.get(WORKS, "w1")
        await write(store, "w1")
        transaction.put(WORKS, "w1", b"mine", {})

    with pytest.raises(Contention):
        await store.transact(fn)
    assert waits == pytest.approx([0.05, 0.1, 0.2])
