"""A suite's data directory with a ledger in it, as the services leave it."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from aex_runtime.files import ensure_data_dir
from aex_runtime.store.sqlite import SQLiteStore
from tests.services.settlement.audit.ledgers import build
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON


def with_ledger(data_dir: Path, work: Callable[[LedgerKit], Awaitable[object]]) -> None:
    async def do() -> None:
        store = SQLiteStore(data_dir / "settlement" / "store.sqlite3")
        try:
            await work(ledger_kit_over(store, NOON))
        finally:
            await store.close()

    asyncio.run(do())


@pytest.fixture(scope="session")
def built_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = ensure_data_dir(tmp_path_factory.mktemp("built") / "data")
    with_ledger(folder, build)
    return folder


@pytest.fixture
def data_dir(built_dir: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built_dir, tmp_path / "data")
