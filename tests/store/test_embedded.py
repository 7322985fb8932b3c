"""The contract on the stores without a server."""

from pathlib import Path

import pytest
from obstore.store import MemoryStore as MemoryObjects

from aex_runtime.blobs.objects import ObjectBlobs
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.sqlite import SQLiteStore
from tests.store.contract import Opened, Sizes, StoreContract


class TestMemoryStore(StoreContract, Sizes):
    @pytest.fixture
    def opened(self) -> Opened:
        return MemoryStore


class TestSQLiteStore(StoreContract, Sizes):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Opened:
        return lambda retry: SQLiteStore(tmp_path / "store.sqlite3", retry=retry)


class TestSpillingStoreOverSQLite(StoreContract):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Opened:
        file = tmp_path / "store.sqlite3"
        return lambda retry: SpillingStore(SQLiteStore(file, retry=retry), ObjectBlobs(MemoryObjects))
