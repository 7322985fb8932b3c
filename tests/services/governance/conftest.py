"""A client of the application and a process without HTTP, each over its own store in memory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.services.governance.client import Client, open_client
from tests.services.governance.process import Process, open_process


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with open_client(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
def process() -> Process:
    return open_process()
