import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.port import Transaction
from tests.emulators.emulators import Emulators, new_project
from tests.store.contract import WORKS, write

pytestmark = pytest.mark.emulator


@pytest.fixture
async def replicas(emulators: Emulators) -> AsyncIterator[list[FirestoreStore]]:
    project = new_project()
    stores = [FirestoreStore(project, emulator=emulators.firestore.host) for _ in range(4)]
    yield stores
    for store in stores:
        await store.close()


async def test_skew_of_two_documents_is_never_written(replicas: list[FirestoreStore]) -> None:
    async def leave(transaction: Transaction, own: str, other: str) -> None:
        found = [await transaction.get(WORKS, key) for key in (own, other)]
        await asyncio.sleep(0)
        if all(found):
            transaction.delete(WORKS, own)

    first, second, *_ = replicas
    for number in range(10):
        keys = f"a{number}", f"b{number}"
        for key in keys:
            await write(first, key)
        await asyncio.gather(
            first.transact(partial(leave, own=keys[0], other=keys[1])),
            second.transact(partial(leave, own=keys[1], other=keys[0])),
        )
        assert sum(document is not None for document in await first.get_many(WORKS, keys)) == 1
