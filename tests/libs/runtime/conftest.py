from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore


@pytest.fixture(params=["memory", "sqlite"])
async def each_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """The test runs once on each store."""
    store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.sqlite3")
    yield store
    await store.close()
