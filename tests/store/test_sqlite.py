from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from tests.store.contract import SOON, SizeLimit, StoreContract


class TestSQLiteStore(StoreContract, SizeLimit):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = SQLiteStore(tmp_path / "store.sqlite3", rerun=SOON)
        yield store
        await store.close()
