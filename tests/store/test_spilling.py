from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from obstore.store import MemoryStore as MemoryObjects

from aex_runtime.blobs.objects import ObjectBlobs
from aex_runtime.store.port import Store
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.sqlite import SQLiteStore
from tests.store.contract import SOON, StoreContract


class TestSpillingStoreOverSQLite(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = SpillingStore(SQLiteStore(tmp_path / "store.sqlite3", rerun=SOON), ObjectBlobs(MemoryObjects))
        yield store
        await store.close()
