import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Contention, Transaction
from aex_runtime.store.transactions import TransactionRetry
from tests.store.contract import WORKS, write


@given(st.just(0.0) | st.floats(0, 10), st.floats(0, 1, exclude_max=True), st.integers(1, 100))
def test_wait_is_jittered_bounded_and_grows_with_the_duration(took_s: float, jitter: float, failures: int) -> None:
    retry = TransactionRetry(first_ms=4, max_ms=1_000, jitter=lambda: jitter)
    assert (
        retry.jittered_wait_s(failures, took_s)
        == jitter * min(1_000, max(4, took_s * 1_000) * 2.0 ** (failures - 1)) / 1_000
    )


@pytest.mark.parametrize(("took_s", "expected"), [(0.0, [0.004, 0.008, 0.016]), (0.1, [0.05, 0.1, 0.2])])
async def test_transaction_waits_longer_after_each_of_its_tries(took_s: float, expected: list[float]) -> None:
    waits: list[float] = []
    now = 0.0

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    store = MemoryStore(
        TransactionRetry(tries=4, first_ms=8, max_ms=500, jitter=lambda: 0.5, sleep=pause, monotonic=lambda: now)
    )
    await write(store, "w1")

    async def fn(transaction: Transaction) -> None:
        nonlocal now
        now += took_s
        await transaction.get(WORKS, "w1")
        await write(store, "w1")
        transaction.put(WORKS, "w1", b"own", {})

    with pytest.raises(Contention, match="4 tries"):
        await store.transact(fn)
    assert waits == pytest.approx(expected)
