"""A suite's data directory with a ledger in it, as the services leave it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from aex_runtime.data_dir import open_data_dir
from aex_runtime.store.sqlite import SQLiteStore
from tests.services.settlement.audit.ledgers import build
from tests.services.settlement.desk import Desk, desk_over
from tests.services.settlement.outcomes import NOON


def at_the_desk(data_dir: Path, work: Callable[[Desk], Awaitable[object]]) -> None:
    """Do something with the ledger of the data directory, as its service would."""

    async def do() -> None:
        store = SQLiteStore(data_dir / "settlement" / "store.sqlite3")
        try:
            await work(desk_over(store, NOON))
        finally:
            await store.close()

    asyncio.run(do())


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Six batches, and nothing waits."""
    folder = open_data_dir(tmp_path / "data")
    at_the_desk(folder, build)
    return folder
