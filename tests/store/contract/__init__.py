"""What every store does. A backend's test class inherits `StoreContract` and provides the fixture `opened`."""

from collections.abc import AsyncIterator

import pytest

from aex_runtime.store.port import Store
from aex_runtime.store.rerun import Rerun
from tests.store.contract.contention import Contending
from tests.store.contract.documents import OTHERS, WORKS, Opened, increment, keys, read, write, write_fields
from tests.store.contract.limits import Limits
from tests.store.contract.many import Many
from tests.store.contract.pages import Pages
from tests.store.contract.queries import Queries
from tests.store.contract.reading import Reading
from tests.store.contract.sizes import Sizes
from tests.store.contract.transactions import Transactions
from tests.store.contract.writing import Writing

__all__ = [
    "OTHERS", "WORKS", "Opened", "Sizes", "StoreContract", "increment", "keys", "read", "write", "write_fields",
]  # fmt: skip


class StoreContract(Reading, Writing, Transactions, Many, Contending, Queries, Pages, Limits):
    """All of it but for `Sizes`. A backend provides `opened`, which opens the one store of a test."""

    @pytest.fixture
    async def store(self, opened: Opened) -> AsyncIterator[Store]:
        """A store that soon gives up on a transaction that cannot win."""
        store = opened(Rerun(longest_ms=64))
        yield store
        await store.close()

    @pytest.fixture
    async def patient_store(self, opened: Opened) -> AsyncIterator[Store]:
        """A store with the waits of production."""
        store = opened(None)
        yield store
        await store.close()
