from collections.abc import AsyncIterator

import pytest

from aex_runtime.store.port import Store
from aex_runtime.store.transactions import TransactionRetry
from tests.store.contract.documents import OTHERS, WORKS, Opened, increment, keys, read, steps, write, write_fields
from tests.store.contract.limits import Limits, Sizes
from tests.store.contract.queries import Queries
from tests.store.contract.reading import Reading
from tests.store.contract.writing import Writing

__all__ = [
    "OTHERS", "WORKS", "Opened", "Sizes", "StoreContract", "increment", "keys", "read", "steps", "write",
    "write_fields",
]  # fmt: skip


class StoreContract(Reading, Writing, Queries, Limits):
    @pytest.fixture
    async def store(self, opened: Opened) -> AsyncIterator[Store]:
        store = opened(TransactionRetry(max_ms=64))
        yield store
        await store.close()

    @pytest.fixture
    async def patient_store(self, opened: Opened) -> AsyncIterator[Store]:
        store = opened(None)
        yield store
        await store.close()
