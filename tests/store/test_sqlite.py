from pathlib import Path

import pytest

from aex_runtime.store.sqlite import SQLiteStore
from tests.store.contract import Opened, Sizes, StoreContract


class TestSQLiteStore(StoreContract, Sizes):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Opened:
        return lambda retry: SQLiteStore(tmp_path / "store.sqlite3", retry=retry)
