import asyncio
import time

import pytest

from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.port import StoreUnavailable, Transaction
from tests.bus.messages import TIMEOUT_S
from tests.emulators.emulators import OwnEmulators, new_project
from tests.store.contract import WORKS, read, write

pytestmark = pytest.mark.emulator


@pytest.fixture
def emulators(own_emulators: OwnEmulators) -> OwnEmulators:
    return own_emulators


async def answering(store: FirestoreStore) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            try:
                return await store.ping()
            except StoreUnavailable:
                await asyncio.sleep(0.05)


async def test_store_recovers_after_an_unanswered_call(emulators: OwnEmulators) -> None:
    store = FirestoreStore(new_project(), emulator=emulators.firestore.host, deadline_s=0.5)
    await write(store, "w1", b"1")
    with emulators.firestore.paused():
        for use in (store.get(WORKS, "w1"), write(store, "w1", b"2"), store.ping()):
            with pytest.raises(StoreUnavailable, match="DEADLINE_EXCEEDED"):
                await use
    await answering(store)
    assert (await read(store, "w1")).body in {b"1", b"2"}  # what was not answered may have happened
    await write(store, "w1", b"3")
    assert (await read(store, "w1")).body == b"3"
    await store.close()


@pytest.mark.slow
async def test_store_recovers_soon_after_firestore(emulators: OwnEmulators) -> None:
    store = FirestoreStore(new_project(), emulator=emulators.firestore.host, deadline_s=2.0)
    await write(store, "w1", b"1")
    await asyncio.to_thread(emulators.firestore.restart)
    back = time.monotonic()
    await answering(store)
    assert time.monotonic() - back < 10  # without a short backoff of its channel it takes up to two minutes
    await write(store, "w1", b"2")
    await store.close()


async def test_commit_without_an_answer_happens_once_or_not_at_all(emulators: OwnEmulators) -> None:
    store = FirestoreStore(new_project(), emulator=emulators.firestore.host, deadline_s=0.3)
    await write(store, "w1", b"0")

    async def add(transaction: Transaction) -> None:
        seen = await transaction.get(WORKS, "w1")
        assert seen is not None
        emulators.firestore.pause()
        transaction.update(WORKS, seen, b"1", {})

    try:
        with pytest.raises(StoreUnavailable):
            await store.transact(add)
    finally:
        emulators.firestore.resume()
    await answering(store)
    assert (await read(store, "w1")).body in {b"0", b"1"}
    await store.close()
