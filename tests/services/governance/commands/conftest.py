"""Data directory of a suite with a log of governance."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from aex_runtime.files import open_data_dir
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from tests.services.governance.process import open_process
from tests.services.governance.rebuild.live import live_through

CONTRACTS = 20


def store_file(data_dir: Path) -> Path:
    return data_dir / "governance" / "store.sqlite3"


def on_the_store(data_dir: Path, work: Callable[[Store], Awaitable[object]]) -> None:

    async def do() -> None:
        store = SQLiteStore(store_file(data_dir))
        try:
            await work(store)
        finally:
            await store.close()

    asyncio.run(do())


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Some contracts, validation_entry and over."""
    folder = open_data_dir(tmp_path / "data")
    on_the_store(folder, lambda store: live_through(open_process(store), 0, CONTRACTS))
    return folder
