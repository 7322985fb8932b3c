from pathlib import Path

import pytest
from obstore.store import MemoryStore as MemoryObjects

from aex_runtime.blobs.objects import ObjectBlobs
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.sqlite import SQLiteStore
from tests.store.contract import Opened, StoreContract


class TestSpillingStoreOverSQLite(StoreContract):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Opened:
        return lambda retry: SpillingStore(
            SQLiteStore(tmp_path / "store.sqlite3", retry=retry), ObjectBlobs(MemoryObjects)
        )
